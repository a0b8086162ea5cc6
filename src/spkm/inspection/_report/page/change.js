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
  if (plain.task === "ordered")
    return (row) => Math.min(...orderSides(plain, k).map(([side, cut]) => side * (engine.scores(row)[0] - cut)));
  if (!plain.two_dimensional) return (row) => (k === 1 ? 1 : -1) * engine.decision(row)[0];
  return (row) => {
    const F = engine.decision(row);
    return F[k] - Math.max(...F.filter((_, other) => other !== k));
  };
}

// The ends of the scores at which the k-th of ordered classes is the most likely: 1 for a lower, -1 for an upper end.
function orderSides(plain, k) {
  const ends = k > 0 ? [[1, plain.cuts[k - 1]]] : [];
  return k < plain.cuts.length ? [...ends, [-1, plain.cuts[k]]] : ends;
}

// The row with a change: pairs of a column, or a link of columns, and its new value, which of a list is the place of
// the entry and of columns on a line the value of the first.
function withChange(machine, row, change) {
  const other = row.slice();
  for (const [c, v] of change) setColumn(machine.movers[c], other, v);
  return other;
}

function setColumn({ features, options, slopes }, row, v) {
  if (options !== null)
    features.forEach((j, k) => {
      row[j] = options[v][1][k];
    });
  else {
    const step = v - row[features[0]];
    row[features[0]] = v;
    if (slopes)
      features.slice(1).forEach((j, k) => {
        row[j] += slopes[k + 1] * step;
      });
  }
}

// The size of a change of one column in standard deviations, with its sign; of a category and of columns that change
// together how far their features move.
function stepOf(machine, row, c, v) {
  const { features, options } = machine.movers[c],
    sd = (j) => machine.features[j].sd || 1;
  if (options !== null) return Math.hypot(...features.map((j, k) => (options[v][1][k] - row[j]) / sd(j)));
  return (v - row[features[0]]) / unitOf(machine, c);
}

// How far a number goes in one deviation; the first of columns on a line, of which all go along.
function unitOf(machine, c) {
  const { features, slopes } = machine.movers[c];
  return 1 / Math.hypot(...features.map((j, k) => (slopes ? slopes[k] : 1) / (machine.features[j].sd || 1)));
}

// Whether a row has no value in a column, or in one of columns that change together.
function hasGap(machine, row, { members, ...column }) {
  if (members) return members.some((c) => hasGap(machine, row, machine.columns[c]));
  if (column.options === null) return isMissing(column, row);
  const level = levelOf(column, row);
  return level >= 0 && column.options[level][0] === "(missing)";
}

// What may be changed: a missing number has no value to change, and no value becomes missing. Columns that determine
// one another change together, or stay.
function free(machine, row) {
  return changeable(machine, machine.movers).filter((c) => {
    const mover = machine.movers[c];
    if (mover.linked || (mover.members && hasGap(machine, row, mover))) return false;
    return !isMissing(mover, row);
  });
}

function otherLevels(machine, row, c) {
  const column = machine.movers[c],
    now = levelOf(column, row),
    known = (k) =>
      column.members
        ? !hasGap(machine, withChange(machine, row, [[c, k]]), column)
        : column.options[k][0] !== "(missing)";
  return column.options.map((_, k) => k).filter((k) => k !== now && known(k));
}

// Where a number may go: between two ends, in steps where it is whole; columns on a line until one of them ends.
function rangeOf(machine, row, c) {
  const { features, slopes } = machine.movers[c],
    x = row[features[0]],
    rate = (k) => (slopes ? slopes[k] : 1);
  let low = -Infinity,
    high = Infinity,
    step = 0;
  features.forEach((j, k) => {
    const own = machine.features[j],
      ends = [own.low, own.high].map((end) => (slopes ? x + (end - row[j]) / rate(k) : end)).sort((a, b) => a - b);
    low = Math.max(low, ends[0]);
    high = Math.min(high, ends[1]);
    if (own.whole) step = Math.max(step, 1 / Math.abs(rate(k)));
  });
  if (step === 0) return { low, high, step };
  const origin = slopes ? x : 0, // whole numbers stay whole from where they are
    room = 1e-9 * (Math.abs(low) + Math.abs(high));
  low = origin + Math.ceil((low - origin - room) / step) * step;
  high = origin + Math.floor((high - origin + room) / step) * step;
  return { low, high, step };
}

// Values that a column may take.
function candidates(machine, row, c, count) {
  const column = machine.movers[c];
  if (column.options !== null) return otherLevels(machine, row, c);
  const { low, high, step } = rangeOf(machine, row, c),
    found = [];
  if (step > 0) {
    const most = Math.round((high - low) / step),
      every = most <= 4 * count ? 1 : most / count;
    for (let k = 0; k <= most + 1e-9; k += every) found.push(low + Math.round(k) * step);
  } else if (high >= low) for (let k = 0; k <= count; k++) found.push(low + ((high - low) * k) / count);
  return found.filter((v) => v !== row[column.features[0]]);
}

// A change column by column: what changes together is told one by one.
function apart(machine, row, change) {
  const other = withChange(machine, row, change);
  return change.flatMap(([c, v]) => {
    const { members } = machine.movers[c];
    if (!members) return [[c, v]];
    return members
      .filter((m) => machine.columns[m].features.some((j) => other[j] !== row[j]))
      .map((m) => {
        const column = machine.columns[m];
        return [m, column.options === null ? other[column.features[0]] : levelOf(column, other)];
      });
  });
}

// The smallest change of one column or two that reaches what is wanted: on a grid, then made smaller and proved by bounds.
function smallestChange(machine, row, wanted) {
  const margin = marginOf(machine, wanted, row);
  if (margin(row) >= 0) return { found: true, proved: true, changes: [], size: 0 };
  const budget = Math.max(4000, Math.min(60000, 4e7 / machine.size)),
    order = free(machine, row).slice(0, Math.max(5, Math.floor(budget / 120)));
  const size = (change) => Math.hypot(...change.map(([c, v]) => stepOf(machine, row, c, v)));
  const at = (change) => margin(withChange(machine, row, change));
  let best = null;
  const offer = (change) => {
    if (best === null || size(change) < size(best)) best = change;
  };
  const reach = new Map();
  for (const c of order) {
    let most = -Infinity;
    for (const v of candidates(machine, row, c, 80)) {
      const m = at([[c, v]]);
      most = Math.max(most, m);
      if (m >= 0 && (best === null || size([[c, v]]) < size(best))) offer(shortened(machine, row, [[c, v]], at));
    }
    reach.set(c, most);
  }
  const few = order
      .slice()
      .sort((a, b) => reach.get(b) - reach.get(a))
      .slice(0, 8),
    side = Math.max(8, Math.min(28, Math.floor(Math.sqrt(budget / 28))));
  for (let a = 0; a < few.length; a++)
    for (let b = 0; b < a; b++) {
      for (const v of candidates(machine, row, few[a], side))
        for (const w of candidates(machine, row, few[b], side)) {
          const change = [
            [few[a], v],
            [few[b], w]
          ];
          if ((best === null || size(change) < size(best)) && at(change) >= 0)
            offer(shortened(machine, row, change, at));
        }
    }
  const proof = settled(machine, row, wanted, best);
  best = proof.best;
  return {
    found: best !== null,
    proved: proof.proved,
    changes: best === null ? [] : apart(machine, row, best),
    size: best === null ? NaN : size(best)
  };
}

// The change drawn back towards the row as far as it still reaches.
function shortened(machine, row, change, at) {
  const steps = ([c]) => machine.movers[c].options !== null || rangeOf(machine, row, c).step > 0;
  if (change.some(steps)) return change;
  let low = 0,
    high = 1;
  const from = (c) => row[machine.movers[c].features[0]],
    part = (t) => change.map(([c, v]) => [c, from(c) + t * (v - from(c))]);
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
  if (plain.task === "ordered")
    return orderSides(plain, k).map(([side, cut]) => ({ factors: [side], constant: -side * cut }));
  if (!plain.two_dimensional) return [{ factors: [k === 1 ? 1 : -1], constant: 0 }];
  return plain.classes.flatMap((_, other) =>
    other === k ? [] : [{ factors: plain.classes.map((_, o) => (o === k) - (o === other)), constant: 0 }]
  );
}

// An upper bound on the least constraint between two rows of corners; null where a kernel has no bounds.
function upperBound(machine, constraints, lowRow, highRow) {
  const [member] = machine.plain.members,
    [one] = machine.engine.scaled(lowRow),
    [other] = machine.engine.scaled(highRow),
    low = one.map((v, j) => Math.min(v, other[j])), // columns on a line may fall where others rise
    high = one.map((v, j) => Math.max(v, other[j]));
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

// The first boxes of a column: its levels one by one, or the two sides of the row.
function sidesOf(machine, row, c) {
  const column = machine.movers[c];
  if (column.options !== null) return otherLevels(machine, row, c).map((k) => [k, k]);
  const { low, high, step } = rangeOf(machine, row, c),
    x = row[column.features[0]];
  if (high < low) return [];
  return step === 0 && x > low && x < high
    ? [
        [low, x],
        [x, high]
      ]
    : [[low, high]];
}

// Branch and bound: boxes of one column or two that no bound rules out are halved. What comes back is the best change,
// and whether every smaller one was ruled out.
function settled(machine, row, wanted, best) {
  const constraints = constraintsOf(machine, row, wanted);
  if (constraints === null) return { best, proved: false };
  const movable = free(machine, row),
    isLevel = (c) => machine.movers[c].options !== null,
    number = (c) => machine.movers[c].features[0],
    sd = (c) => unitOf(machine, c),
    stepped = new Map(movable.map((c) => [c, isLevel(c) ? 0 : rangeOf(machine, row, c).step])),
    sizeOf = (change) => Math.hypot(...change.map(([c, v]) => stepOf(machine, row, c, v)));
  const away = (c, [low, high]) =>
    isLevel(c) ? stepOf(machine, row, c, low) : Math.max(low - row[number(c)], row[number(c)] - high, 0) / sd(c);
  let left = Math.max(2000, Math.min(200000, 3e7 / machine.size)),
    most = best === null ? Infinity : sizeOf(best),
    proved = true;
  const top = (players, box) => {
    const ends = [0, 1].map((end) =>
      withChange(
        machine,
        row,
        players.map((c, p) => [c, box[p][end]])
      )
    );
    return upperBound(machine, constraints, ...ends);
  };
  const offer = (players, point) => {
    const change = players.map((c, p) => [c, point[p]]).filter(([c, v]) => isLevel(c) || v !== row[number(c)]);
    if (sizeOf(change) < most && top(players, point.map((v) => [v, v])) >= 0) {
      best = change;
      most = sizeOf(change);
    }
  };
  const look = (players, first) => {
    const open = first.slice();
    while (open.length) {
      const box = open.pop();
      if (Math.hypot(...players.map((c, p) => away(c, box[p]))) >= most * (1 - CLOSE)) continue;
      if (left-- <= 0) return false;
      const bound = top(players, box);
      if (bound === null) return false;
      if (bound < 0) continue;
      const corners = box.reduce((some, ends) => some.flatMap((point) => ends.map((v) => [...point, v])), [[]]);
      corners.forEach((point) => offer(players, point));
      const widths = box.map(([low, high], p) => (high - low) / sd(players[p])),
        p = widths.length > 1 && widths[1] > widths[0] ? 1 : 0;
      if (widths[p] === 0) continue; // a point, which was just looked at
      if (widths[p] < FINEST && stepped.get(players[p]) === 0) {
        proved = false;
        continue;
      }
      const [low, high] = box[p],
        step = stepped.get(players[p]),
        below = step > 0 ? low + Math.floor((high - low) / step / 2 + 1e-9) * step : (low + high) / 2,
        above = step > 0 ? below + step : below,
        halves = [
          [low, below],
          [above, high]
        ].map((half) => box.map((own, q) => (q === p ? half : own)));
      if (away(players[p], halves[0][p]) < away(players[p], halves[1][p])) halves.reverse(); // the nearer one comes next
      open.push(...halves);
    }
    return true;
  };
  const sides = new Map(movable.map((c) => [c, sidesOf(machine, row, c)]));
  for (const c of movable) if (!look([c], sides.get(c).map((side) => [side]))) return { best, proved: false };
  for (let a = 0; a < movable.length; a++)
    for (let b = 0; b < a; b++) {
      const boxes = sides.get(movable[a]).flatMap((one) => sides.get(movable[b]).map((other) => [one, other]));
      if (!look([movable[a], movable[b]], boxes)) return { best, proved: false };
    }
  return { best, proved };
}
