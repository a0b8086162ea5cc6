// Ordered classes and censored times: the score axis with its thresholds, and survival curves.

// Probabilities along the score, dashed thresholds, samples by class; mark is the score of a sample.
function orderChart({ thresholds, grid, probabilities, samples }, names, mark = null, width = chartWidth()) {
  const strip = 20,
    top = 24,
    left = Math.min(120, 16 + LETTER * Math.max(...names.map((name) => Math.min(name.length, 14)))),
    box = { left, right: width - 14, top, bottom: 170 },
    height = box.bottom + names.length * strip + 52;
  const x = scaleOf(grid[0], grid[grid.length - 1], box.left, box.right),
    y = scaleOf(0, 1, box.bottom, box.top),
    chart = frame(width, height),
    below = { ...box, bottom: box.bottom + 8 + names.length * strip };
  axes(chart, x, y, below, "score (dashed: thresholds)", "probability", ticks(grid[0], grid[grid.length - 1], 5), []);
  for (const t of [0, 0.5, 1])
    chart.append(
      svg("line", { x1: box.left, x2: box.right, y1: y(t), y2: y(t), class: "grid" }),
      svg("text", { x: box.left - 6, y: y(t) + 4, "text-anchor": "end", class: "quiet" }, fmt(t, 2))
    );
  names.forEach((name, k) => {
    const points = grid.map((f, i) => `${x(f).toFixed(1)},${y(probabilities[i][k]).toFixed(1)}`).join(" "),
      at = box.bottom + 14 + k * strip;
    chart.append(
      svg("polyline", { points, class: `line s${k % 6}` }),
      svg("text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, shorten(name, 14)),
      svg("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: `line s${k % 6}`, "stroke-opacity": 0.35 })
    );
    if (samples)
      samples[k].forEach((f) =>
        chart.append(svg("line", { x1: x(f), x2: x(f), y1: at - 6, y2: at + 6, class: `line s${k % 6} stroke` }))
      );
  });
  for (const t of thresholds)
    chart.append(svg("line", { x1: x(t), x2: x(t), y1: box.top, y2: below.bottom, class: "mark" }));
  if (mark !== null) {
    const at = Math.max(box.left, Math.min(box.right, x(mark)));
    chart.append(
      svg("line", { x1: at, x2: at, y1: box.top - 4, y2: below.bottom, class: "axis" }),
      svg("text", { x: at, y: box.top - 8, "text-anchor": at > width - 80 ? "end" : "middle" }, `this sample ${signed(mark)}`)
    );
  }
  return chart;
}

function orderFigure(facts, mark = null) {
  const order = facts.order,
    names = facts.model.classes;
  const what = order.samples === null ? "" : facts.samples.privacy === "aggregate" ? "; strokes: deciles of each class" : "; strokes: samples of each class";
  return figure({
    title: "One score for all classes",
    note: `lines: probability of each class${what}`,
    alt: `Probabilities of ${names.length} ordered classes along the score, with ${order.thresholds.length} thresholds.`,
    chart: orderChart(order, names, mark),
    head: ["score", ...names],
    rows: order.grid.map((f, i) => [f, ...order.probabilities[i]])
  });
}

// Curves from one at time zero.
function survivalFigure(facts, series, title, note) {
  const xs = [0, ...facts.survival.times],
    all = [...series, { name: "usual", values: facts.survival.usual, kind: "usual" }].map((one) => ({
      ...one,
      values: [1, ...one.values]
    }));
  return figure({
    title,
    note,
    alt: `Survival curves: ${all.map(({ name }) => name).join(", ")}.`,
    chart: lineChart(xs, all, { xLabel: "time", yLabel: "probability of no event" }),
    head: ["time", ...all.map(({ name }) => name)],
    rows: xs.map((t, i) => [t, ...all.map(({ values }) => values[i])])
  });
}

function vectorCurves(facts) {
  return [
    survivalFigure(
      facts,
      facts.survival.vectors.map(({ name, survival }) => ({ name, values: survival })),
      "Survival curves of the basis vectors",
      "that of a sample at the place of each, the highest hazard first; usual: the mean log hazard of the training samples"
    )
  ];
}

// What is drawn of one sample, or of a changed one beside it as it was: its curve, or its place on the score axis.
function targetParts(machine, row, before = null) {
  const { facts, engine } = machine;
  if (facts.order) return [orderFigure(facts, engine.scores(row)[0])];
  const series = [{ name: before === null ? "this sample" : "now", values: engine.survival(row) }];
  if (before !== null) series.push({ name: "before", values: engine.survival(before) });
  return [survivalFigure(facts, series, "Survival", "the probability of no event until a time")];
}

function survivalText(machine, row) {
  const { times } = machine.facts.survival,
    values = machine.engine.survival(row);
  return [0.25, 0.5, 0.75]
    .map((share) => Math.round(share * (times.length - 1)))
    .map((i) => `no event until ${fmt(times[i], 3)}: ${percent(values[i], 0)}`)
    .join("; ");
}

function survivalCalibration(facts) {
  return (facts.quality.survival_calibration || []).map(({ time, bins }) =>
    figure({
      title: `Calibration: survival until ${fmt(time, 3)}`,
      note: "dots: fifths of the samples by predicted survival, against Kaplan and Meier's share with 95 % intervals; dashes: perfect",
      alt: `Predicted survival against the observed share, in ${bins.length} groups.`,
      chart: calibrationChart(bins),
      head: ["mean prediction", "observed share", "low", "high", "samples"],
      rows: bins
    })
  );
}
