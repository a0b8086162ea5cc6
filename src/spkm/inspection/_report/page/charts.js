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

function scaleOf(low, high, from, to) {
  const span = high > low ? high - low : 1;
  return (x) => from + ((to - from) * (x - low)) / span;
}

function frame(width, height) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
}

const LETTER = 7.2; // pixels of a letter of 12 pixels, about

// Where labels of bars go: left of them, or, where it is narrow, above them.
function labelRoom(labels, width) {
  const longest = Math.max(...labels.map((label) => label.length), 3);
  if (width < 460 && longest > 14) return { above: true, room: 0, extra: 16, letters: Math.floor(width / LETTER) };
  const room = Math.min(longest * LETTER + 8, width * 0.5);
  return { above: false, room, extra: 0, letters: Math.floor(room / LETTER) };
}

function barLabel(place, y, text) {
  return place.above
    ? svg("text", { x: 0, y: y - 3 }, shorten(text, place.letters))
    : svg("text", { x: place.room - 6, y: y + 11, "text-anchor": "end" }, shorten(text, place.letters));
}

// Horizontal bars from zero.
function barChart(labels, values, { format = signed, width = chartWidth(), plain = false } = {}) {
  const place = labelRoom(labels, width),
    room = place.room,
    step = 22 + place.extra,
    height = values.length * step + 8;
  const low = Math.min(0, ...values),
    high = Math.max(0, ...values);
  const left = low < 0 ? 58 : 0,
    right = high > 0 ? 58 : 4;
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
      svg(
        "text",
        { x: value >= 0 ? x(value) + 4 : x(value) - 4, y: y + 13, "text-anchor": value >= 0 ? "start" : "end" },
        format(value)
      )
    );
  });
  return chart;
}

// A waterfall from a start to the sum; steps are drawn in the order given.
function waterfall(labels, values, start, { first = "mean", last = "score", width = chartWidth() } = {}) {
  const place = labelRoom(labels, width),
    room = place.room,
    step = 24 + place.extra,
    height = values.length * step + 52;
  const edges = [start];
  values.forEach((value) => edges.push(edges[edges.length - 1] + value));
  const x = scaleOf(Math.min(...edges), Math.max(...edges), room + 58, width - 58),
    chart = frame(width, height);
  const end = edges[edges.length - 1];
  const near = (at) => (x(at) > width - 120 ? "end" : x(at) < room + 90 ? "start" : "middle");
  chart.append(
    svg("text", { x: x(start), y: 14, "text-anchor": near(start) }, `${first} ${fmt(start)}`),
    svg("line", { x1: x(start), x2: x(start), y1: 18, y2: 28 + place.extra, class: "axis" })
  );
  values.forEach((value, k) => {
    const y = 24 + k * step + place.extra,
      a = x(edges[k]),
      b = x(edges[k + 1]),
      text = signed(value, 3),
      wide = 4 + 7.5 * text.length; // about what the number takes
    const right = value >= 0 ? Math.max(a, b) + wide <= width : Math.min(a, b) - wide < room;
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
      svg(
        "text",
        {
          x: right ? Math.max(a, b) + 4 : Math.min(a, b) - 4,
          y: y + 15,
          "text-anchor": right ? "start" : "end"
        },
        text
      )
    );
  });
  chart.append(
    svg("text", { x: x(end), y: height - 6, "text-anchor": near(end), "font-weight": "650" }, `${last} ${fmt(end)}`)
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
  for (const t of xTicks)
    chart.append(svg("text", { x: x(t), y: box.bottom + 16, "text-anchor": "middle", class: "quiet" }, fmt(t, 4)));
  chart.append(
    svg("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "axis" }),
    svg("text", { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, xLabel),
    svg("text", { x: 0, y: 12 }, yLabel)
  );
}

// Curves over one feature; series are {name, values}, mark is a vertical line.
function lineChart(xs, series, { xLabel, yLabel, mark = null, width = chartWidth(), height = 230 } = {}) {
  const named = series.length > 1,
    box = { left: 58, right: width - (named ? Math.min(130, width * 0.3) : 14), bottom: height - 42, top: 24 };
  const all = series.flatMap((one) => one.values),
    low = Math.min(...all),
    high = Math.max(...all);
  const room = high > low ? 0.05 * (high - low) : 1;
  const x = scaleOf(xs[0], xs[xs.length - 1], box.left, box.right),
    y = scaleOf(low - room, high + room, box.bottom, box.top);
  const chart = frame(width, height);
  axes(
    chart,
    x,
    y,
    box,
    xLabel,
    yLabel,
    ticks(xs[0], xs[xs.length - 1], width < 420 ? 3 : 5),
    ticks(low - room, high + room, 4)
  );
  if (mark !== null)
    chart.append(svg("line", { x1: x(mark), x2: x(mark), y1: box.top, y2: box.bottom, class: "mark" }));
  series.forEach((one, k) => {
    const points = one.values.map((value, i) => `${x(xs[i]).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    chart.append(svg("polyline", { points, class: `line s${k % 6}` }));
    if (!named) return;
    const at = box.top + 8 + 17 * k;
    chart.append(
      svg("line", { x1: box.right + 8, x2: box.right + 34, y1: at, y2: at, class: `line s${k % 6}` }),
      svg(
        "text",
        { x: box.right + 38, y: at + 4 },
        shorten(one.name, Math.max(5, Math.floor((width - box.right - 40) / LETTER)))
      )
    );
  });
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
    box = { left: 58, right: width - 14, bottom: height - 42, top: 24 };
  const xs = rows.map((row) => row[0]),
    low = Math.min(0, ...rows.map((row) => row[1])),
    high = Math.max(0, ...rows.map((row) => row[3]));
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
    ticks(low, high, 4)
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
    chart.append(
      barLabel(place, y - 7, label),
      svg("circle", { cx: x(deviations[k] ?? 0), cy: y, r: 5, class: "dot" }),
      svg("text", { x: x(deviations[k] ?? 0) + 8, y: y + 4 }, texts[k])
    );
  });
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
