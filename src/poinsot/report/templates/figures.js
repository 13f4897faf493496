// Unpacks Plotly and the figures, draws each figure when it comes near the screen in the colours of the reader's scheme,
// zooms the panels of a grid together, and draws and unfolds all for print.
(async () => {
  "use strict";
  // Tables, keys, strings and comments of a project file.
  const TOML = /(?<comment>#.*)|(?<table>^\s*\[.*?\]+(?=\s*(?:#.*)?$))|(?<key>^\s*[\w."-]+(?=\s*=))|(?<string>"(?:[^"\\]|\\.)*"|'[^']*')/gm;
  for (const block of document.querySelectorAll("pre.toml")) {
    const text = block.textContent;
    let end = 0;
    block.textContent = "";
    for (const found of text.matchAll(TOML)) {
      const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
      block.append(text.slice(end, found.index), Object.assign(document.createElement("span"), { className: kind, textContent: found[0] }));
      end = found.index + found[0].length;
    }
    block.append(text.slice(end));
  }

  const unpacked = (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  // Plotly reads the letters of 3D axes back from a canvas, and browsers warn where it was not made for that.
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    return getContext.call(this, kind, kind === "2d" ? { willReadFrequently: true, ...options } : options);
  };
  const [library, packed] = await Promise.all(["page_plotly", "page_figures"].map(unpacked));
  document.head.append(Object.assign(document.createElement("script"), { textContent: library }));
  const figures = JSON.parse(packed);

  // Figures are made for white paper; these are the same inks on a dark screen.
  const DARK = {
    "#ffffff": "#12181f", "#1b2733": "#e3e9ef", "#5b6773": "#9fabb7", "#e3e7eb": "#2a333d", "#b9c1c9": "#59656f",
    "#1f5fa8": "#6cabf2", "#e06c00": "#ff9d42", "rgba(31, 95, 168, 0.13)": "rgba(108, 171, 242, 0.2)",
    "#5f8fc4": "#4d83bd", "#a3bedb": "#3f6184", "#c9d1d9": "#6a7681",
  };
  const recoloured = (value) =>
    typeof value === "string" ? DARK[value] ?? value
      : Array.isArray(value) ? (typeof value[0] === "number" ? value : value.map(recoloured))
        : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, recoloured(each)]))
          : value;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const plots = [...document.querySelectorAll(".plot")];
  const drawn = new Set();

  // The numbers as they are drawn, a column for the name of each trace.
  function save(plot) {
    const rows = ["trace,x,y,z"];
    for (const trace of plot._fullData) {
      const name = `"${(trace.name ?? "").replaceAll('"', '""')}"`;
      for (let k = 0; k < (trace.x ?? []).length; k++)
        if (trace.x[k] !== null) rows.push([name, trace.x[k], trace.y[k] ?? "", trace.z?.[k] ?? ""].join(","));
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([rows.join("\n") + "\n"], { type: "text/csv" }));
    link.download = `${name(plot)}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  const name = (plot) => (plot.closest("figure").querySelector(".name")?.textContent || "figure").replace(/[^\w.-]+/g, "_");
  const config = (plot, scene) => ({
    displaylogo: false,
    showSendToCloud: false, // the default in Plotly 4 offers to send the data away
    responsive: true,
    modeBarButtons: [
      // A scene is zoomed by its buttons: the wheel goes on scrolling the page.
      ...(scene ? [["tableRotation", "zoom3d", "pan3d", "resetCameraDefault3d"]] : []),
      ["toImage", { name: "csv", title: "Save the numbers as CSV", icon: Plotly.Icons.disk, click: save }],
    ],
    toImageButtonOptions: { format: "svg", filename: name(plot) },
  });

  // A play button and a slider over the frames, which are named by their times and not blended. On a narrow screen
  // buttons have signs alone, or they would cover the time.
  const FRAME_MS = 50;
  function controls(frames, redraw, narrow) {
    const still = { mode: "immediate", transition: { duration: 0 } };
    const jump = { ...still, frame: { duration: 0, redraw } };
    const look = { bgcolor: "#ffffff", bordercolor: "#b9c1c9", y: 0, yanchor: "top", xanchor: "left" };
    const button = (label, which, how) => ({ label, method: "animate", args: [which, how] });
    return {
      updatemenus: [{
        ...look, type: "buttons", direction: "left", showactive: false, x: 0, pad: { t: 52 },
        buttons: [
          button(narrow ? "▶" : "▶ play", null, { ...still, fromcurrent: true, frame: { duration: FRAME_MS, redraw } }),
          button(narrow ? "❚❚" : "❚❚ stop", [null], jump),
        ],
      }],
      sliders: [{
        ...look, x: 0.34, len: 0.66, pad: { t: 40, b: 0, r: 4 }, ticklen: 0, minorticklen: 0, tickwidth: 0,
        steps: frames.map(({ name }) => button(name, [name], jump)),
        currentvalue: { prefix: "time ", suffix: " s", offset: 6, font: { color: "#1b2733" } },
        font: { color: "rgba(0, 0, 0, 0)" }, // labels of the steps are too many to be read
      }],
    };
  }

  // A narrow screen sees a scene from farther away, and lower.
  function shown(plot, paper = false) {
    let { data, layout, frames } = figures[plots.indexOf(plot)];
    const narrow = plot.clientWidth < 500;
    layout = { ...layout, uirevision: "kept", ...(frames && controls(frames, "scene" in layout, narrow)) };
    if (narrow && layout.scene) {
      const { eye, ...camera } = layout.scene.camera;
      const away = Object.fromEntries(Object.entries(eye).map(([axis, each]) => [axis, 1.12 * each]));
      const height = Math.min(layout.height, 340 + (layout.margin.b ?? 0));
      plot.style.height = `${height}px`;
      layout = { ...layout, height, scene: { ...layout.scene, camera: { ...camera, eye: away } }, legend: { ...layout.legend, font: { size: 10 } } };
    }
    if (dark.matches && !paper) [data, layout] = [recoloured(data), recoloured(layout)];
    return { data, layout, frames, config: config(plot, "scene" in layout) };
  }

  function draw(plot, paper = false) {
    if (drawn.has(plot)) return;
    drawn.add(plot);
    const figure = shown(plot, paper);
    const grid = plot.closest(".shared-x");
    plot.home = grid && figure.layout.xaxis.range;
    if (grid && grid.dataset.range) figure.layout.xaxis = { ...figure.layout.xaxis, range: JSON.parse(grid.dataset.range) };
    if ("scene" in figure.layout) plot.addEventListener("wheel", (event) => event.stopPropagation(), { capture: true, passive: true });
    Plotly.newPlot(plot, figure);
    if (grid) plot.on("plotly_relayout", (change) => follow(grid, plot, change));
  }
  const redraw = (paper) => drawn.forEach((plot) => {
    const { data, layout, config } = shown(plot, paper);
    Plotly.react(plot, data, layout, config);
  });
  dark.addEventListener("change", () => redraw(false));

  let following = false;
  function follow(grid, leader, change) {
    if (following) return;
    let update = null;
    if ("xaxis.range[0]" in change) {
      const range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      grid.dataset.range = JSON.stringify(range);
      update = () => ({ "xaxis.range": range });
    } else if (change["xaxis.autorange"] || "xaxis.range" in change) {
      delete grid.dataset.range;
      update = (plot) => (plot.home ? { "xaxis.range": plot.home } : { "xaxis.autorange": true });
    }
    if (!update) return;
    following = true;
    const others = [...grid.querySelectorAll(".plot")].filter((plot) => plot !== leader && drawn.has(plot));
    Promise.all(others.map((plot) => Plotly.relayout(plot, update(plot)))).finally(() => (following = false));
  }

  // Plotly's own drawing area and buttons are no part of what the text alternative describes.
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      watcher.unobserve(entry.target);
      draw(entry.target);
    }),
    { rootMargin: "600px 0px" },
  );
  plots.forEach((plot) => watcher.observe(plot));

  // A link to a folded section unfolds it.
  const unfold = () => {
    const section = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = section && section.querySelector(":scope > details");
    if (folded && !folded.open) {
      folded.open = true;
      section.scrollIntoView();
    }
  };
  addEventListener("hashchange", unfold);
  unfold();

  // Paper has its own width: two columns of an A4 page, or one where a panel stands alone. [CSS px]
  const width = (plot) => (plot.closest(".wide, .single") ? 700 : 340);
  const folds = [...document.querySelectorAll("details")];
  addEventListener("beforeprint", () => {
    folds.filter((fold) => !fold.open).forEach((fold) => (fold.open = fold.dataset.printed = true));
    if (dark.matches) redraw(true);
    plots.forEach((plot) => {
      draw(plot, true);
      Plotly.relayout(plot, { width: width(plot) });
    });
  });
  addEventListener("afterprint", () => {
    folds.filter((fold) => fold.dataset.printed).forEach((fold) => {
      fold.open = false;
      delete fold.dataset.printed;
    });
    if (dark.matches) redraw(false);
    plots.forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true }));
  });
})();
