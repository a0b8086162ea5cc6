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
  return curveChart(facts, series, { width, height, yLabel: "change of the score", band: false });
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
      title: "Which part of the curve matters",
      note: `mean change of the ${facts.model.score_names[0]} with one standard deviation more at one point of the curve, all else equal`,
      alt: "Slopes of the scores over the axis.",
      chart: slopeChart(facts, chartWidth(), 240),
      head: [axisName(facts), ...outputs],
      rows: axis.values.map((x, k) => [x, ...axis.slopes.map((own) => own[k])])
    })
  ];
}

// A basis vector in the units of the data, by feature that is read; null where it does not look.
function vectorOf(machine, r) {
  const found = machine.features.map(() => null);
  let row = r;
  for (const member of machine.plain.members)
    for (const term of member.terms) {
      if (row >= 0 && row < term.weights.length)
        for (const view of term.views)
          view.columns.forEach((c, j) => {
            const z = view.basis[row][j];
            found[member.features[c]] = member.scaling === null ? z : z * member.scaling.scale[c] + member.scaling.center[c];
          });
      row -= term.weights.length;
    }
  return found;
}

// A basis vector as a curve, over the range of the samples.
function vectorCurve(facts, card, width, machine) {
  const curve = card.curve || atRead(facts, vectorOf(machine, card.r));
  return figure({
    title: "Its curve",
    note: "line: the vector; grey: the middle 80 % of the samples",
    alt: `The basis vector ${card.name} over the axis.`,
    chart: curveChart(facts, [{ name: card.name, values: curve }], { width, height: 200 }),
    head: [axisName(facts), card.name],
    rows: facts.axis.values.map((x, k) => [x, curve[k]])
  });
}

const BANDS = 40; // neighbouring points are explained together where one by one would take too long

// The machine whose columns are told apart in an explanation: points of the axis, or bands of neighbouring ones.
function tellerOf(machine) {
  const { facts, features } = machine;
  if (!facts.axis || features.length <= BANDS) return machine;
  if (shapleyCost(machine) * Math.min(5, machine.background.length) <= WORK) return machine;
  if (!machine.bands) {
    const size = Math.ceil(features.length / BANDS),
      owner = features.map((_, j) => Math.floor(j / size)),
      count = owner[owner.length - 1] + 1,
      at = (j) => fmt(facts.axis.values[features[j].column]),
      columns = Array.from({ length: count }, (_, k) => {
        const own = owner.flatMap((o, j) => (o === k ? [j] : []));
        return { name: `${at(own[0])} to ${at(own[own.length - 1])}`, features: own, options: null, missing: null, unit: "" };
      });
    machine.bands = { ...machine, columns, owner, size };
  }
  return machine.bands;
}

// Values of the columns of a teller at each point that is read.
function atPoints(teller, values) {
  return teller.owner.map((c) => values[c]);
}

function bandNote(teller) {
  return teller.size ? ` of ${teller.columns.length} bands of ${teller.size} neighbouring points` : "";
}

// Values of features, such as Shapley values, with the sample's own curve above.
function valueCurves(machine, row, values, width, name, bars = null) {
  const { facts } = machine,
    own = atRead(facts, row),
    over = { name, values: atRead(facts, values) };
  if (bars && facts.axis.read === null)
    Object.assign(over, { low: values.map((v, k) => v - bars[k]), high: values.map((v, k) => v + bars[k]) });
  const chart = svg("svg", {}),
    height = 190,
    parts = [
      curveChart(facts, [{ name: "sample", values: own }], { width, height, yLabel: "this sample" }),
      curveChart(facts, [over], { width, height, yLabel: name, band: false })
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
