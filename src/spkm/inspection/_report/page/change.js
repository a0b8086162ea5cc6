// What would have to change: a search, and bounds that prove that nothing smaller exists.

const CLOSE = 1e-3; // a proof leaves changes open that are smaller by less than this share
const FINEST = 1e-7; // deviations: a side of a box that is not halved any more

// How far a row is beyond the boundary of what is wanted: 0 or more has reached it.
function marginOf(machine, wanted, row0) {
  const { engine, plain } = machine;
  if (plain.task === "regression") {
    const side = [engine.predict(row0)].flat()[0] < wanted ? 1 : -1;
    return (row) => side * ([engine.predict(row)].flat()[0] - wanted);
  }
  const k = plain.classes.indexOf(wanted);
  if (!plain.two_dimensional) return (row) => (k === 1 ? 1 : -1) * engine.decision(row)[0];
  return (row) => {
    const F = engine.decision(row);
    return F[k] - Math.max(...F.filter((_, other) => other !== k));
  };
}

// Values that a feature may take, the nearest to x first on each side.
function candidates(feature, x, count) {
  const low = feature.low,
    high = feature.high,
    found = [];
  if (feature.whole && high - low <= 4 * count) for (let v = Math.ceil(low); v <= high; v++) found.push(v);
  else for (let k = 0; k <= count; k++) found.push(low + ((high - low) * k) / count);
  return found.filter((v) => v !== x);
}

// The smallest change of one feature or two that reaches what is wanted: on a grid, then made smaller and proved by bounds.
function smallestChange(machine, row, wanted) {
  const margin = marginOf(machine, wanted, row),
    spread = machine.features.map((f) => f.sd || 1);
  if (margin(row) >= 0) return { found: true, proved: true, changes: [], size: 0 };
  const budget = Math.max(4000, Math.min(60000, 4e7 / machine.size)),
    order = machine.features
      .map((_, j) => j)
      .filter((j) => machine.features[j].high > machine.features[j].low)
      .sort((a, b) => machine.features[b].variance - machine.features[a].variance)
      .slice(0, Math.max(5, Math.floor(budget / 120)));
  const size = (change) => Math.hypot(...change.map(([j, v]) => (v - row[j]) / spread[j]));
  const at = (change) => {
    const other = row.slice();
    change.forEach(([j, v]) => {
      other[j] = v;
    });
    return margin(other);
  };
  let best = null;
  const offer = (change) => {
    if (best === null || size(change) < size(best)) best = change;
  };
  const reach = new Map();
  for (const j of order) {
    let most = -Infinity;
    for (const v of candidates(machine.features[j], row[j], 80)) {
      const m = at([[j, v]]);
      most = Math.max(most, m);
      if (m >= 0 && (best === null || Math.abs(v - row[j]) / spread[j] < size(best)))
        offer(shortened(machine, row, [[j, v]], at));
    }
    reach.set(j, most);
  }
  const few = order
      .slice()
      .sort((a, b) => reach.get(b) - reach.get(a))
      .slice(0, 8),
    side = Math.max(8, Math.min(28, Math.floor(Math.sqrt(budget / 28))));
  for (let a = 0; a < few.length; a++)
    for (let b = 0; b < a; b++) {
      for (const v of candidates(machine.features[few[a]], row[few[a]], side))
        for (const w of candidates(machine.features[few[b]], row[few[b]], side)) {
          const change = [
            [few[a], v],
            [few[b], w]
          ];
          if ((best === null || size(change) < size(best)) && at(change) >= 0)
            offer(shortened(machine, row, change, at));
        }
    }
  const proof = settled(machine, row, wanted, best, spread);
  best = proof.best;
  return { found: best !== null, proved: proof.proved, changes: best || [], size: best === null ? NaN : size(best) };
}

// The change drawn back towards the row as far as it still reaches.
function shortened(machine, row, change, at) {
  if (change.some(([j]) => machine.features[j].whole)) return change;
  let low = 0,
    high = 1;
  const part = (t) => change.map(([j, v]) => [j, row[j] + t * (v - row[j])]);
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (at(part(middle)) >= 0) high = middle;
    else low = middle;
  }
  return part(high);
}

// The least and the largest value of a kernel between the corners low and high; null where nothing is known.
function kernelRange(value, kernel, low, high, u) {
  const w = kernel.metric,
    rate = (j) => (Array.isArray(w) ? w[j] : w),
    inner = (part) => kernelRange(value, part, low, high, u);
  switch (kernel.name) {
    case "affine": {
      const range = inner(kernel.kernel);
      return range && spanned(range.map((k) => kernel.scale * k + kernel.shift));
    }
    case "sum":
    case "product": {
      const left = inner(kernel.left),
        right = inner(kernel.right);
      if (left === null || right === null) return null;
      return kernel.name === "sum" ? [left[0] + right[0], left[1] + right[1]] : multiplied(left, right);
    }
    case "rbf":
    case "matern":
    case "rational_quadratic":
    case "laplacian": {
      // Of a distance that is a sum over features the nearest and the farthest corner decide.
      const near = u.map((x, j) => Math.min(Math.max(x, low[j]), high[j])),
        far = u.map((x, j) => (Math.abs(low[j] - x) > Math.abs(high[j] - x) ? low[j] : high[j]));
      return [value(kernel, far, u), value(kernel, near, u)];
    }
    case "linear":
    case "polynomial": {
      const most = u.map((x, j) => (rate(j) * x > 0 ? high[j] : low[j])),
        least = u.map((x, j) => (rate(j) * x > 0 ? low[j] : high[j])),
        range = spanned([value(kernel, least, u), value(kernel, most, u)]);
      if (kernel.name === "linear" || kernel.degree % 2 === 1) return range;
      const base = (x) => x.reduce((sum, v, j) => sum + rate(j) * v * u[j], kernel.coef0);
      return base(least) < 0 && base(most) > 0 ? [0, range[1]] : range; // an even power turns at 0
    }
    default:
      return null;
  }
}

function spanned(values) {
  return [Math.min(...values), Math.max(...values)];
}

function multiplied(a, b) {
  return spanned([a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]);
}

// What must not be negative, as sums of scores: for each the factors of the scores and a constant. Null if it is no such
// thing: votes of several models, or a prediction that no score has.
function constraintsOf(machine, row, wanted) {
  const { engine, plain } = machine;
  if (plain.combine !== "joint" || plain.constants !== null || plain.members.length !== 1) return null;
  if (plain.task === "regression") {
    const side = [engine.predict(row)].flat()[0] < wanted ? 1 : -1,
      target = plain.link === "exp" ? Math.log(wanted) : wanted;
    return Number.isFinite(target) ? [{ factors: [side], constant: -side * target }] : null;
  }
  const k = plain.classes.indexOf(wanted);
  if (!plain.two_dimensional) return [{ factors: [k === 1 ? 1 : -1], constant: 0 }];
  return plain.classes.flatMap((_, other) =>
    other === k ? [] : [{ factors: plain.classes.map((_, o) => (o === k) - (o === other)), constant: 0 }]
  );
}

// An upper bound on the least constraint between two rows of corners; null where a kernel has no bounds.
function upperBound(machine, constraints, lowRow, highRow) {
  const [member] = machine.plain.members,
    [low] = machine.engine.scaled(lowRow),
    [high] = machine.engine.scaled(highRow);
  const tops = constraints.map(({ factors, constant }) =>
    member.intercept.reduce((sum, b, o) => sum + factors[o] * b, constant)
  );
  for (const term of member.terms)
    for (let r = 0; r < term.weights.length; r++) {
      let range = [1, 1];
      for (const view of term.views) {
        const own = kernelRange(
          machine.engine.kernelValue,
          view.kernel,
          view.columns.map((c) => low[c]),
          view.columns.map((c) => high[c]),
          view.basis[r]
        );
        if (own === null) return null;
        range = range[0] === 1 && range[1] === 1 ? own : multiplied(range, own);
      }
      constraints.forEach(({ factors }, i) => {
        const weight = term.weights[r].reduce((sum, c, o) => sum + factors[o] * c, 0);
        tops[i] += weight > 0 ? weight * range[1] : weight * range[0];
      });
    }
  return Math.min(...tops);
}

// The first boxes of a feature: its whole numbers one by one, or the two sides of the row.
function sidesOf(feature, x) {
  const { low, high } = feature;
  if (feature.whole && high - low <= 400) {
    const found = [];
    for (let v = Math.ceil(low); v <= high; v++) found.push([v, v]);
    return found;
  }
  return x > low && x < high
    ? [
        [low, x],
        [x, high]
      ]
    : [[low, high]];
}

// Branch and bound: boxes of one feature or two that no bound rules out are halved. What comes back is the best change,
// and whether every smaller one was ruled out.
function settled(machine, row, wanted, best, spread) {
  const constraints = constraintsOf(machine, row, wanted);
  if (constraints === null) return { best, proved: false };
  const free = machine.features.map((_, j) => j).filter((j) => machine.features[j].high > machine.features[j].low),
    away = (j, [low, high]) => Math.max(low - row[j], row[j] - high, 0) / spread[j],
    sizeOf = (change) => Math.hypot(...change.map(([j, v]) => (v - row[j]) / spread[j]));
  let left = Math.max(2000, Math.min(200000, 3e7 / machine.size)),
    most = best === null ? Infinity : sizeOf(best),
    proved = true;
  const top = (players, box) => {
    const low = row.slice(),
      high = row.slice();
    players.forEach((j, p) => {
      [low[j], high[j]] = box[p];
    });
    return upperBound(machine, constraints, low, high);
  };
  const offer = (players, point) => {
    const change = players.map((j, p) => [j, point[p]]).filter(([j, v]) => v !== row[j]);
    if (sizeOf(change) < most && top(players, point.map((v) => [v, v])) >= 0) {
      best = change;
      most = sizeOf(change);
    }
  };
  const look = (players, first) => {
    const open = first.slice();
    while (open.length) {
      const box = open.pop();
      if (Math.hypot(...players.map((j, p) => away(j, box[p]))) >= most * (1 - CLOSE)) continue;
      if (left-- <= 0) return false;
      const bound = top(players, box);
      if (bound === null) return false;
      if (bound < 0) continue;
      const corners = box.reduce((some, ends) => some.flatMap((point) => ends.map((v) => [...point, v])), [[]]);
      corners.forEach((point) => offer(players, point));
      const widths = box.map(([low, high], p) => (high - low) / spread[players[p]]),
        p = widths.length > 1 && widths[1] > widths[0] ? 1 : 0;
      if (widths[p] === 0) continue; // a point, which was just looked at
      if (widths[p] < FINEST) {
        proved = false;
        continue;
      }
      const [low, high] = box[p],
        middle = (low + high) / 2,
        halves = [
          [low, middle],
          [middle, high]
        ].map((half) => box.map((own, q) => (q === p ? half : own)));
      if (away(players[p], halves[0][p]) < away(players[p], halves[1][p])) halves.reverse(); // the nearer one comes next
      open.push(...halves);
    }
    return true;
  };
  const sides = new Map(free.map((j) => [j, sidesOf(machine.features[j], row[j])]));
  for (const j of free) if (!look([j], sides.get(j).map((side) => [side]))) return { best, proved: false };
  for (let a = 0; a < free.length; a++)
    for (let b = 0; b < a; b++) {
      const boxes = sides.get(free[a]).flatMap((one) => sides.get(free[b]).map((other) => [one, other]));
      if (!look([free[a], free[b]], boxes)) return { best, proved: false };
    }
  return { best, proved };
}
