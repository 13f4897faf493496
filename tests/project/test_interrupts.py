"""Ctrl-C at a good moment; afterwards it does what it did before."""

import os
import signal
import threading

import pytest

from poinsot.project.job import stoppable, uninterrupted


@pytest.fixture(autouse=True)
def as_before():
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_nothing_pressed_asks_for_nothing():
    with stoppable() as stop:
        assert not stop()


def test_pressed_once_it_asks_to_stop():
    with stoppable() as stop:
        press()
        assert stop() and stop()


def test_pressed_twice_it_interrupts_at_once():
    asked = []

    def work():
        with stoppable() as stop:
            press()
            asked.append(stop())
            press()
            asked.append("went on")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert asked == [True]


def test_what_is_done_as_a_whole_ends_first():
    done = []

    def work():
        with uninterrupted():
            press()
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [True]


def test_in_another_thread_there_is_no_ctrl_c():
    asked = []

    def work():
        with stoppable() as stop, uninterrupted():
            asked.append(stop())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [False]
