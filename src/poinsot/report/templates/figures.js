// Draws each figure when it comes near the screen, zooms the panels of a grid together, and draws all for print.
(() => {
  "use strict";
  const config = {
    displaylogo: false,
    showSendToCloud: false, // the default in Plotly 4 offers to send the data away
    responsive: true,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { format: "svg" },
  };
  // A scene is zoomed by its buttons: the wheel goes on scrolling the page.
  const solid = { ...config, modeBarButtons: [["tableRotation", "zoom3d", "pan3d", "resetCameraDefault3d"], ["toImage"]] };
  const plots = [...document.querySelectorAll(".plot")];
  const drawn = new Set();

  function draw(plot) {
    if (drawn.has(plot)) return;
    drawn.add(plot);
    const figure = JSON.parse(plot.nextElementSibling.textContent);
    const grid = plot.closest(".shared-x");
    plot.home = grid && figure.layout.xaxis.range;
    if (grid && grid.dataset.range) Object.assign(figure.layout.xaxis, { range: JSON.parse(grid.dataset.range) });
    const scene = "scene" in figure.layout;
    if (scene) plot.addEventListener("wheel", (event) => event.stopPropagation(), { capture: true, passive: true });
    Plotly.newPlot(plot, { ...figure, config: scene ? solid : config });
    if (grid) plot.on("plotly_relayout", (change) => follow(grid, plot, change));
  }

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

  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      watcher.unobserve(entry.target);
      draw(entry.target);
    }),
    { rootMargin: "600px 0px" },
  );
  plots.forEach((plot) => watcher.observe(plot));

  // Paper has its own width: two columns of an A4 page, or one where a panel stands alone. [CSS px]
  const paper = (plot) => (plot.closest(".wide, .single") ? 700 : 340);
  window.addEventListener("beforeprint", () => plots.forEach((plot) => {
    draw(plot);
    Plotly.relayout(plot, { width: paper(plot) });
  }));
  window.addEventListener("afterprint", () => plots.forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true })));
})();
