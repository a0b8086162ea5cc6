// Ordered features, such as wavelengths: everything is a curve over their axis.
function atRead(facts, values) {
  const { read } = facts.axis;
  if (read === null) return values;
  const whole = facts.axis.values.map(() => null);
  read.forEach((c, k) => {
    whole[c] = values[k];
  });
  return whole;
}

function axisName(facts) {
  return facts.axis.label;
}

// The mean curve of the samples, their middle 80 %, and others over it.
function curveChart(facts, series, { width = chartWidth(), height = 240, yLabel = "value", band = true } = {}) {
  const { values: xs, low, high } = facts.axis;
  return lineChart(xs, series, {
    xLabel: axisName(facts),
    yLabel,
    width,
    height,
    band: band ? [low, high] : null,
    dots: facts.axis.read !== null && facts.axis.read.length < 40 ? facts.axis.read : null
  });
}

function slopeChart(facts, width, height) {
  const { outputs } = facts.model,
    series = facts.axis.slopes.map((values, o) => ({ name: outputs[o], values }));
  return curveChart(facts, series, { width, height, yLabel: "change of score a deviation", band: false });
}

function axisPart(facts) {
  const { axis } = facts,
    mean = [{ name: "mean", values: axis.mean }],
    outputs = facts.model.outputs.slice(0, axis.slopes.length);
  const marked = axis.read !== null && axis.read.length < 40 ? "; dots: the points that the model reads" : "";
  return [
    el("h2", {}, "Over the axis"),
    figure({
      title: "The samples",
      note: `line: mean; grey: the middle 80 %${marked}`,
      alt: "Mean of the samples and their middle 80 percent over the axis.",
      chart: curveChart(facts, mean),
      head: [axisName(facts), "mean", "10 % below", "90 % below"],
      rows: axis.values.map((x, k) => [x, axis.mean[k], axis.low[k], axis.high[k]])
    }),
    figure({
      title: "Where it looks",
      note: `mean change of the ${facts.model.score_names[0]} with one standard deviation more at one point of the curve, all else equal`,
      alt: "Slopes of the scores over the axis.",
      chart: slopeChart(facts, chartWidth(), 240),
      head: [axisName(facts), ...outputs],
      rows: axis.values.map((x, k) => [x, ...axis.slopes.map((own) => own[k])])
    })
  ];
}

// A basis vector as a curve, over the range of the samples.
function vectorCurve(facts, card, width) {
  return figure({
    title: "Its curve",
    note: "line: the vector; grey: the middle 80 % of the samples",
    alt: `The basis vector ${card.name} over the axis.`,
    chart: curveChart(facts, [{ name: card.name, values: card.curve }], { width, height: 200 }),
    head: [axisName(facts), card.name],
    rows: facts.axis.values.map((x, k) => [x, card.curve[k]])
  });
}

// Values of features, such as Shapley values, with the sample's own curve above.
function valueCurves(machine, row, values, width, name) {
  const { facts } = machine,
    own = atRead(facts, row),
    over = atRead(facts, values);
  const chart = svg("svg", {}),
    height = 190,
    parts = [
      curveChart(facts, [{ name: "sample", values: own }], { width, height, yLabel: "this sample" }),
      curveChart(facts, [{ name, values: over }], { width, height, yLabel: name, band: false })
    ];
  parts[1].setAttribute("y", height);
  chart.append(...parts);
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${2 * height}`, width, height: 2 * height }))
    chart.setAttribute(key, value);
  return chart;
}

// What if the curve had a bump: where, how wide, how high in standard deviations.
function bumpControls(machine, update) {
  const { facts } = machine,
    xs = machine.features.map((f) => facts.axis.values[f.column]),
    [first, last] = [Math.min(...xs), Math.max(...xs)];
  const chosen = { centre: (first + last) / 2, width: (last - first) / 10, height: 0 };
  const draw = el("div", {});
  const apply = () => {
    machine.features.forEach((f, j) => {
      const z = (xs[j] - chosen.centre) / chosen.width;
      state.moved[j] = state.row[j] + chosen.height * f.sd * Math.exp(-z * z);
    });
    draw.replaceChildren(
      figure({
        title: "The curve",
        note: "dashes: with the bump",
        alt: "The sample's curve before and after the change.",
        chart: curveChart(facts, [
          { name: "before", values: atRead(facts, state.row) },
          { name: "now", values: atRead(facts, state.moved) }
        ]),
        head: [axisName(facts), "before", "now"],
        rows: xs.map((x, j) => [x, state.row[j], state.moved[j]])
      })
    );
    update();
  };
  const slider = (key, title, low, high, step) => {
    const bar = el("input", { type: "range", min: low, max: high, step, value: chosen[key], id: `bump-${key}` }),
      told = el("span", { class: "soft" }, fmt(chosen[key], 3));
    bar.addEventListener("input", () => {
      chosen[key] = Number(bar.value);
      told.textContent = fmt(chosen[key], 3);
      apply();
    });
    return el("div", { class: "slider" }, el("div", { class: "head" }, el("label", { for: `bump-${key}` }, title), told), bar);
  };
  apply();
  return [
    el(
      "div",
      { class: "sliders" },
      slider("height", "Height of a bump, in standard deviations", -3, 3, 0.1),
      slider("centre", `Its centre, ${axisName(facts)}`, first, last, "any"),
      slider("width", "Its width", (last - first) / 100, (last - first) / 2, "any")
    ),
    draw
  ];
}
