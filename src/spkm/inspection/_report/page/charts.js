// Charts as inline SVG. Sign is told by direction and by + and −, series by their dashes: never by colour alone.
function ticks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count,
    power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step)
    found.push(Math.abs(t) < 1e-12 * step ? 0 : t);
  return found;
}

// Numbers of one picture: what is rounding beside the largest of them is zero.
function snapped(values) {
  const size = Math.max(0, ...values.map((v) => (typeof v === "number" ? Math.abs(v) : 0)));
  return values.map((v) => (typeof v === "number" && Math.abs(v) < 1e-9 * size ? 0 : v));
}

function scaleOf(low, high, from, to) {
  const span = high > low ? high - low : 1;
  return (x) => from + ((to - from) * (x - low)) / span;
}

// How wide the numbers beside a vertical axis are, with room.
function leftRoom(yTicks, least = 58) {
  return Math.max(least, ...yTicks.map((t) => textWidth(fmt(t, 3)) + 10));
}

function frame(width, height) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
}

const LETTER = 7.2; // pixels of a letter of 12 pixels, about

// How wide a text of 12 pixels is; measured, as letters differ.
let ruler = null;
function textWidth(text, weight = "") {
  if (ruler === null) ruler = document.createElement("canvas").getContext("2d");
  if (ruler === null) return LETTER * String(text).length;
  ruler.font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(String(text)).width;
}

function shortenTo(text, room) {
  text = String(text);
  if (textWidth(text) <= room) return text;
  while (text.length > 1 && textWidth(text + "…") > room) text = text.slice(0, -1);
  return text + "…";
}

// Where labels of bars go: left of them, or, where they are too long for that, above them.
function labelRoom(labels, width, most = 0.45) {
  const longest = Math.max(24, ...labels.map((label) => textWidth(label))) + 10;
  if (longest > width * most) return { above: true, room: 0, extra: 16, width };
  return { above: false, room: longest, extra: 0, width };
}

// A label; where even a whole line is too short the full text is its tooltip.
function barLabel(place, y, text) {
  const shown = place.above ? shortenTo(text, place.width) : text,
    label = place.above
      ? svg("text", { x: 0, y: y - 3 }, shown)
      : svg("text", { x: place.room - 6, y: y + 11, "text-anchor": "end" }, shown);
  if (shown !== text) label.append(svg("title", {}, text));
  return label;
}

// The error bar of a horizontal bar that ends at a value.
function whisker(x, at, half, y) {
  return svg("path", {
    d: `M${x(at - half).toFixed(1)},${y}H${x(at + half).toFixed(1)}M${x(at - half).toFixed(1)},${y - 3.5}v7M${x(at + half).toFixed(1)},${y - 3.5}v7`,
    class: "error"
  });
}

// Horizontal bars from zero; error bars, half as wide as "bars" says, where there are some.
function barChart(labels, given, { format = (v) => signed(v, 3), width = chartWidth(), plain = false, bars = null } = {}) {
  const values = snapped(given),
    half = values.map((_, k) => (bars === null ? 0 : bars[k] || 0));
  const place = labelRoom(labels, width),
    room = place.room,
    step = 22 + place.extra,
    height = values.length * step + 8;
  const low = Math.min(0, ...values.map((v, k) => v - half[k])),
    high = Math.max(0, ...values.map((v, k) => v + half[k]));
  const beside = (sign) => Math.max(0, ...values.filter((v) => sign * v > 0 || (sign > 0 && v === 0)).map((v) => textWidth(format(v)) + 8));
  const left = beside(-1),
    right = Math.max(4, beside(1));
  const x = scaleOf(low, high, room + left, width - right),
    chart = frame(width, height);
  chart.append(svg("line", { x1: x(0), x2: x(0), y1: 2, y2: height - 4, class: "axis" }));
  values.forEach((value, k) => {
    const y = k * step + 4 + place.extra,
      a = Math.min(x(0), x(value)),
      size = Math.abs(x(value) - x(0));
    chart.append(
      barLabel(place, y + 2, labels[k]),
      svg("rect", {
        x: a,
        y: y + 2,
        width: Math.max(size, 0.5),
        height: 15,
        class: plain ? "plain" : value >= 0 ? "up" : "down"
      }),
      half[k] ? whisker(x, value, half[k], y + 9.5) : "",
      svg(
        "text",
        {
          x: value >= 0 ? x(value + half[k]) + 4 : x(value - half[k]) - 4,
          y: y + 13,
          "text-anchor": value >= 0 ? "start" : "end"
        },
        format(value)
      )
    );
  });
  return chart;
}

// A waterfall from a start to the sum; steps are drawn in the order given.
function waterfall(labels, values, start, { first = "mean", last = "score", width = chartWidth(), bars = null } = {}) {
  const place = labelRoom(labels, width),
    room = place.room,
    step = 24 + place.extra,
    height = values.length * step + 52;
  const edges = [start];
  values.forEach((value) => edges.push(edges[edges.length - 1] + value));
  const half = values.map((_, k) => (bars === null ? 0 : bars[k] || 0)),
    reach = [...edges, ...half.flatMap((h, k) => [edges[k + 1] - h, edges[k + 1] + h])];
  const margin = Math.max(30, ...values.map((v) => textWidth(signed(v, 3)) + 8));
  const x = scaleOf(Math.min(...reach), Math.max(...reach), room + margin, width - margin),
    chart = frame(width, height);
  const end = edges[edges.length - 1];
  const told = (at, y, text, weight) => {
    const half = textWidth(text, weight) / 2 + 2;
    return svg("text", { x: Math.max(half, Math.min(width - half, x(at))), y, "text-anchor": "middle", "font-weight": weight || null }, text);
  };
  chart.append(
    told(start, 14, `${first} ${fmt(start)}`),
    svg("line", { x1: x(start), x2: x(start), y1: 18, y2: 28 + place.extra, class: "axis" })
  );
  values.forEach((value, k) => {
    const y = 24 + k * step + place.extra,
      a = x(edges[k]),
      b = x(edges[k + 1]),
      text = signed(value, 3),
      wide = 4 + 7.5 * text.length; // about what the number takes
    const least = Math.min(a, x(edges[k + 1] - half[k])),
      most = Math.max(a, x(edges[k + 1] + half[k])),
      right = value >= 0 ? most + wide <= width : least - wide < room;
    chart.append(
      barLabel(place, y + 4, labels[k]),
      svg("rect", {
        x: Math.min(a, b),
        y: y + 4,
        width: Math.max(Math.abs(b - a), 0.5),
        height: 16,
        class: value >= 0 ? "up" : "down"
      }),
      svg("line", { x1: b, x2: b, y1: y + 4, y2: y + step + 4, class: "axis" }),
      half[k] ? whisker(x, edges[k + 1], half[k], y + 12) : "",
      svg(
        "text",
        {
          x: right ? most + 4 : least - 4,
          y: y + 15,
          "text-anchor": right ? "start" : "end"
        },
        text
      )
    );
  });
  chart.append(
    told(end, height - 6, shortenTo(`${last} ${fmt(end)}`, width - 12), "650")
  );
  return chart;
}

function axes(chart, x, y, box, xLabel, yLabel, xTicks, yTicks) {
  for (const t of yTicks) {
    chart.append(
      svg("line", { x1: box.left, x2: box.right, y1: y(t), y2: y(t), class: "grid" }),
      svg("text", { x: box.left - 6, y: y(t) + 4, "text-anchor": "end", class: "quiet" }, fmt(t, 3))
    );
  }
  for (const t of xTicks) {
    const text = fmt(t, 4),
      at = Math.min(x(t), box.right + 13 - textWidth(text) / 2); // the room that every chart has at its right
    chart.append(svg("text", { x: at, y: box.bottom + 16, "text-anchor": "middle", class: "quiet" }, text));
  }
  chart.append(
    svg("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "axis" }),
    svg("text", { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, xLabel),
    svg("text", { x: 0, y: 12 }, yLabel)
  );
}

// Curves over one feature; series are {name, values, low, high}: a gap where a value is null, a band where there are low
// and high. mark is a vertical line, range the ends of the y axis, band a grey one behind all, dots places to mark.
function lineChart(
  xs,
  series,
  { xLabel, yLabel, mark = null, width = chartWidth(), height = 230, range = null, band = null, dots = null } = {}
) {
  const named = series.length > 1,
    room = named ? Math.min(width * 0.32, Math.max(...series.map((one) => textWidth(one.name))) + 46) : 14,
    box = { right: width - room, bottom: height - 42, top: 24 };
  const all = [...series.flatMap((one) => [...one.values, ...(one.low || []), ...(one.high || [])]), ...(band || []).flat()];
  const known = all.filter((v) => v !== null),
    [low, high] = range || [Math.min(...known), Math.max(...known)],
    margin = high > low ? 0.05 * (high - low) : 1;
  const yTicks = ticks(low - margin, high + margin, 4);
  box.left = leftRoom(yTicks);
  const ends = [Math.min(...xs), Math.max(...xs)],
    x = scaleOf(ends[0], ends[1], box.left, box.right),
    y = scaleOf(low - margin, high + margin, box.bottom, box.top);
  const chart = frame(width, height);
  axes(chart, x, y, box, xLabel, yLabel, ticks(ends[0], ends[1], width < 420 ? 3 : 5), yTicks);
  const area = (lows, highs, name) => {
    const up = xs.map((at, i) => `${x(at).toFixed(1)},${y(highs[i]).toFixed(1)}`),
      down = xs.map((at, i) => `${x(at).toFixed(1)},${y(lows[i]).toFixed(1)}`).reverse();
    chart.append(svg("polygon", { points: [...up, ...down].join(" "), class: name }));
  };
  if (band !== null) area(band[0], band[1], "band");
  if (mark !== null)
    chart.append(svg("line", { x1: x(mark), x2: x(mark), y1: box.top, y2: box.bottom, class: "mark" }));
  series.forEach((one, k) => {
    if (one.low) area(one.low, one.high, `bar s${k % 6}`);
    const path = pathOf(xs, one.values, x, y);
    const kind = `line ${one.kind || `s${k % 6}`}${k < 6 ? "" : " thin"}`;
    chart.append(svg("path", { d: path, class: kind }));
    if (dots !== null)
      for (const i of dots)
        if (one.values[i] !== null) chart.append(svg("circle", { cx: x(xs[i]), cy: y(one.values[i]), r: 4, class: "dot" }));
    if (!named) return;
    const at = box.top + 8 + 17 * k;
    chart.append(
      svg("line", { x1: box.right + 8, x2: box.right + 34, y1: at, y2: at, class: kind }),
      svg("text", { x: box.right + 38, y: at + 4 }, shortenTo(one.name, width - box.right - 40))
    );
  });
  return chart;
}

function pathOf(xs, values, x, y) {
  let path = "",
    pen = false;
  values.forEach((value, i) => {
    if (value === null || value === undefined) {
      pen = false;
      return;
    }
    path += `${pen ? "L" : "M"}${x(xs[i]).toFixed(1)},${y(value).toFixed(1)}`;
    pen = true;
  });
  return path;
}

// Figures of several models, with intervals where there are some; the first is ours.
function dotChart({ rows }, width = chartWidth()) {
  const labels = rows.map((row) => row[0]),
    place = labelRoom(labels, width, 0.5),
    step = 30 + place.extra,
    height = rows.length * step + 30;
  const all = rows.flatMap((row) => row.slice(1).filter((v) => v !== null)),
    spread = Math.max(0.05, Math.max(...all) - Math.min(...all)),
    low = Math.min(...all) - 0.08 * spread,
    high = Math.max(...all) + 0.08 * spread;
  const x = scaleOf(low, high, place.room + 12, width - 50),
    chart = frame(width, height);
  ticks(low, high, 4).forEach((t) =>
    chart.append(
      svg("line", { x1: x(t), x2: x(t), y1: 4, y2: height - 24, class: "grid" }),
      svg("text", { x: x(t), y: height - 8, "text-anchor": "middle", class: "quiet" }, fmt(t, 3))
    )
  );
  rows.forEach(([name, value, below, above], k) => {
    const y = k * step + 16 + place.extra;
    if (below !== null) chart.append(svg("line", { x1: x(below), x2: x(above), y1: y, y2: y, class: "whisker" }));
    chart.append(
      barLabel(place, y - 7, name),
      svg("circle", { cx: x(value), cy: y, r: k ? 4.5 : 6.5, class: k ? "other" : "dot" }),
      svg("text", { x: x(above ?? value) + 9, y: y + 4, "font-weight": k ? null : 650 }, fmt(value, 3))
    );
  });
  return chart;
}

// The part of each column: full where it acts alone, pale where it acts with others.
function shareChart(columns, independent, width = chartWidth()) {
  const labels = columns.map((c) => c.name),
    place = labelRoom(labels, width, 0.55),
    step = 24 + place.extra,
    height = columns.length * step + (independent ? 26 : 8);
  const end = (c) => c.variance + (c.bar || 0),
    x = scaleOf(0, Math.max(...columns.map(end)), place.room, width - 52),
    chart = frame(width, height);
  columns.forEach((c, k) => {
    const y = k * step + 4 + place.extra,
      alone = c.alone === null ? c.variance : Math.max(0, Math.min(c.alone, c.variance));
    chart.append(
      barLabel(place, y + 2, c.name),
      svg("rect", { x: place.room, y: y + 2, width: Math.max(x(c.variance) - place.room, 0.5), height: 15, class: "pale" }),
      svg("rect", { x: place.room, y: y + 2, width: Math.max(x(alone) - place.room, 0.5), height: 15, class: "plain" }),
      svg("text", { x: x(end(c)) + 4, y: y + 13 }, fmt(c.variance, 2))
    );
    if (c.bar)
      chart.append(svg("line", { x1: x(Math.max(0, c.variance - c.bar)), x2: x(end(c)), y1: y + 9.5, y2: y + 9.5, class: "error" }));
  });
  if (independent)
    chart.append(
      svg("rect", { x: place.room, y: height - 17, width: 11, height: 11, class: "plain" }),
      svg("text", { x: place.room + 15, y: height - 7, class: "quiet" }, "alone"),
      svg("rect", { x: place.room + 62, y: height - 17, width: 11, height: 11, class: "pale" }),
      svg("text", { x: place.room + 77, y: height - 7, class: "quiet" }, "with others")
    );
  return chart;
}

// Six outputs of an effect as they are drawn: outputs of different units in standard deviations from their means.
function drawnEffect(facts, { values, bars }) {
  const shown = values.slice(0, 6),
    scales = facts.model.scales;
  if (scales === null) return { values: shown, bars };
  return {
    values: shown.map((own, o) => own.map((v) => (v - scales[o][0]) / scales[o][1])),
    bars: bars && bars.map((own, o) => own.map((v) => v / scales[o][1]))
  };
}

// Values of an effect, or the ends of its error bars.
function effectEnds(facts, effect) {
  const { values: shown, bars } = drawnEffect(facts, effect);
  return bars ? shown.flatMap((own, o) => own.flatMap((v, k) => [v - bars[o][k], v + bars[o][k]])) : shown.flat();
}

// Ends of a scale that all effects share.
function effectRange(facts) {
  const all = facts.columns.filter((c) => c.effect !== null).flatMap((c) => effectEnds(facts, c.effect));
  return all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
}

// The effect of a column: a curve of a number, dots at the levels of a category.
function effectChart(facts, column, range, width, height = 230) {
  const { outputs, score_names: names } = facts.model,
    { levels } = column.effect,
    { values, bars } = drawnEffect(facts, column.effect),
    ends = effectEnds(facts, column.effect),
    own = range || [Math.min(...ends), Math.max(...ends)],
    scaled = facts.model.scales === null ? "mean score" : "mean prediction, in standard deviations",
    label = outputs.length > 1 ? scaled : `mean ${names[0]}`;
  if (levels !== null) return levelChart(levels, values, bars, outputs, own, label, width);
  const f = facts.features.read[column.features[0]];
  return lineChart(
    effectGrid(facts, column),
    values.map((part, o) => ({
      name: outputs[o],
      values: part,
      ...(bars ? { low: part.map((v, k) => v - bars[o][k]), high: part.map((v, k) => v + bars[o][k]) } : {})
    })),
    { xLabel: column.name + (column.unit || f.unit ? `, ${column.unit || f.unit}` : ""), yLabel: label, width, height, range: own }
  );
}

function effectGrid(facts, column) {
  const f = facts.features.read[column.features[0]],
    { points } = facts.features;
  return Array.from({ length: points }, (_, k) => f.low + ((f.high - f.low) * k) / (points - 1));
}

function levelChart(levels, values, bars, outputs, [low, high], label, width) {
  const place = labelRoom(levels, width, 0.5),
    step = 20 + place.extra,
    several = values.length > 1,
    height = levels.length * step + 44 + (several ? 16 : 0),
    margin = high > low ? 0.05 * (high - low) : 1;
  const x = scaleOf(low - margin, high + margin, place.room + 6, width - 12),
    chart = frame(width, height),
    bottom = levels.length * step + 4;
  ticks(low - margin, high + margin, 5).forEach((t) =>
    chart.append(
      svg("line", { x1: x(t), x2: x(t), y1: 2, y2: bottom, class: "grid" }),
      svg("text", { x: x(t), y: bottom + 14, "text-anchor": "middle", class: "quiet" }, fmt(t, 3))
    )
  );
  levels.forEach((level, k) => {
    const y = k * step + 10 + place.extra;
    chart.append(barLabel(place, y - 7, level));
    values.forEach((part, o) =>
      chart.append(
        bars ? whisker(x, part[k], bars[o][k], y) : "",
        svg("circle", { cx: x(part[k]), cy: y, r: 4.5, class: `point p${o % 6}` }),
        several ? svg("text", { x: x(part[k]) + 6, y: y + 4, class: "quiet" }, String(o + 1)) : ""
      )
    );
  });
  chart.append(svg("text", { x: (place.room + width) / 2, y: bottom + 30, "text-anchor": "middle" }, shortenTo(label, width - place.room)));
  if (several)
    chart.append(
      svg("text", { x: 0, y: bottom + 46, class: "quiet" }, shortenTo(outputs.slice(0, values.length).map((name, o) => `${o + 1}: ${name}`).join(", "), width))
    );
  return chart;
}

// How often something happens against the probability it was given, with 95 % intervals.
function calibrationChart(bins, width = chartWidth(420)) {
  const height = 300,
    box = { left: 44, right: width - 12, bottom: height - 42, top: 24 };
  const x = scaleOf(0, 1, box.left, box.right),
    y = scaleOf(0, 1, box.bottom, box.top),
    chart = frame(width, height);
  axes(
    chart,
    x,
    y,
    box,
    "predicted probability",
    "share that happened",
    [0, 0.25, 0.5, 0.75, 1],
    [0, 0.25, 0.5, 0.75, 1]
  );
  chart.append(svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "mark" }));
  for (const [p, share, low, high] of bins) {
    chart.append(
      svg("line", { x1: x(p), x2: x(p), y1: y(low), y2: y(high), class: "axis" }),
      svg("circle", { cx: x(p), cy: y(share), r: 4.5, class: "dot" })
    );
  }
  return chart;
}

// The middle 80 % of errors and their median against the prediction.
function residualChart(rows, width = chartWidth()) {
  const height = 260,
    xs = rows.map((row) => row[0]),
    low = Math.min(0, ...rows.map((row) => row[1])),
    high = Math.max(0, ...rows.map((row) => row[3])),
    yTicks = ticks(low, high, 4),
    box = { left: leftRoom(yTicks), right: width - 14, bottom: height - 42, top: 24 };
  const x = scaleOf(Math.min(...xs), Math.max(...xs), box.left + 8, box.right - 8),
    y = scaleOf(low, high, box.bottom, box.top),
    chart = frame(width, height);
  axes(
    chart,
    x,
    y,
    box,
    "prediction",
    "target − prediction",
    ticks(Math.min(...xs), Math.max(...xs), 4),
    yTicks
  );
  const up = rows.map((row) => `${x(row[0])},${y(row[3])}`),
    down = rows.map((row) => `${x(row[0])},${y(row[1])}`).reverse();
  chart.append(svg("polygon", { points: [...up, ...down].join(" "), class: "band" }));
  chart.append(svg("line", { x1: box.left, x2: box.right, y1: y(0), y2: y(0), class: "mark" }));
  chart.append(svg("polyline", { points: rows.map((row) => `${x(row[0])},${y(row[2])}`).join(" "), class: "line s0" }));
  rows.forEach((row) => chart.append(svg("circle", { cx: x(row[0]), cy: y(row[2]), r: 4, class: "dot" })));
  return chart;
}

// Where a basis vector lies in each feature: dots on a line of standard deviations from the mean.
function deviationChart(labels, deviations, texts, width = chartWidth(420)) {
  const place = labelRoom(labels, width),
    room = place.room,
    step = 22 + place.extra,
    height = labels.length * step + 34;
  const reach = Math.max(2, ...deviations.map((d) => Math.abs(d ?? 0)));
  const x = scaleOf(-reach, reach, room + 10, width - 62),
    chart = frame(width, height);
  chart.append(svg("rect", { x: x(-1), y: 2, width: x(1) - x(-1), height: labels.length * step, class: "band" }));
  chart.append(svg("line", { x1: x(0), x2: x(0), y1: 2, y2: labels.length * step + 4, class: "axis" }));
  labels.forEach((label, k) => {
    const y = k * step + 13 + place.extra;
    chart.append(barLabel(place, y - 7, label));
    if (deviations[k] === null) {
      // a category has levels, and no place among the deviations
      chart.append(svg("text", { x: room + (place.above ? 12 : 10), y: y + 4, class: "level-text" }, shortenTo(texts[k], width - room - 14)));
      return;
    }
    const left = x(deviations[k]) + 10 + textWidth(texts[k]) > width;
    chart.append(
      svg("circle", { cx: x(deviations[k]), cy: y, r: 5, class: "dot" }),
      svg("text", { x: x(deviations[k]) + (left ? -9 : 8), y: y + 4, "text-anchor": left ? "end" : "start" }, texts[k])
    );
  });
  if (deviations.every((d) => d === null)) return chart;
  const low = Math.ceil(-reach),
    high = Math.floor(reach);
  for (const t of [low, 0, high])
    chart.append(svg("text", { x: x(t), y: height - 18, "text-anchor": "middle", class: "quiet" }, signed(t, 2)));
  chart.append(
    svg(
      "text",
      { x: x(0), y: height - 4, "text-anchor": "middle", class: "quiet" },
      "standard deviations from the mean"
    )
  );
  return chart;
}
