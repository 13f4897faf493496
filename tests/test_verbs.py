"""A verb is one file in `poinsot/cli`."""

from poinsot import cli

VERB = '''
import typer


def greet(name: str = "you") -> None:
    """Greet someone."""
    typer.echo(f"hello, {name}")
'''


def test_a_file_that_is_added_is_a_verb(tmp_path, monkeypatch, capsys):
    (tmp_path / "greet.py").write_text(VERB)
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(tmp_path)])
    assert cli.main(["greet", "--name", "Louis"]) == 0
    assert capsys.readouterr().out == "hello, Louis\n"
    assert cli.main(["--help"]) == 0
    assert "Greet someone." in capsys.readouterr().out


def test_verbs_are_listed_in_the_order_of_their_use():
    verbs = cli.verbs()
    assert verbs[:3] == ("new", "inspect", "identify")
    assert {"drives", "reproduce", "warmup", "open"} <= {*verbs}
    assert "shell" not in verbs
    assert all(callable(cli.function_of(verb)) for verb in verbs)
