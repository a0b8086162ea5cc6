// Predictions of a sparse pre-image kernel machine from its plain form, in plain JavaScript.
//
//   const model = spkmModel(JSON.parse(text));   // what est.export("model.json") wrote
//   model.predict([1.0, 2.5])                    // a number, a class, or a list of them
//
// A row is an array of n_features numbers; where the model has an encoder, of the cells of the table: numbers, texts,
// truths, null where a value is missing. Classes that are whole numbers beyond 2^53 are texts; so must be such cells of
// a category. Methods: scaled, similarities, scores, contributions, decision,
// probabilities, predict, survival (no event until each of plain.survival.times), kernelValue, solved (a linear system). No dependencies; all arithmetic is in double precision.
function spkmModel(plain) {
  "use strict";
  if (plain === null || typeof plain !== "object" || plain.schema !== 1) {
    throw new Error("spkm: the model has an unknown schema; it must be 1.");
  }
  // Whole numbers beyond 2^53 are texts, so that no two labels become one.
  if (plain.javascript_classes) plain = { ...plain, classes: plain.javascript_classes };
  const EXP_FROM = 30, SMALLEST_SHARE = 1e-7, TINY = 2.2250738585072014e-308;

  function logistic(f) {
    if (f >= 0) return 1 / (1 + Math.exp(-f));
    const e = Math.exp(f);
    return e / (1 + e);
  }

  // A kernel: the tree of formulas at points x and u of the same columns.
  function value(kernel, x, u) {
    const w = kernel.metric, each = Array.isArray(w);
    let s = 0, xx = 0, uu = 0;
    switch (kernel.name) {
      case "affine":
        return kernel.scale * value(kernel.kernel, x, u) + kernel.shift;
      case "sum":
        return value(kernel.left, x, u) + value(kernel.right, x, u);
      case "product":
        return value(kernel.left, x, u) * value(kernel.right, x, u);
      case "rbf":
      case "matern":
      case "rational_quadratic":
        for (let j = 0; j < x.length; j++) s += (each ? w[j] : w) * (x[j] - u[j]) * (x[j] - u[j]);
        return profile(kernel, s);
      case "laplacian":
        for (let j = 0; j < x.length; j++) s += (each ? w[j] : w) * Math.abs(x[j] - u[j]);
        return Math.exp(-s);
      case "linear":
      case "polynomial":
      case "normalized_polynomial":
      case "tanimoto":
        for (let j = 0; j < x.length; j++) {
          const wj = each ? w[j] : w;
          s += wj * x[j] * u[j];
          xx += wj * x[j] * x[j];
          uu += wj * u[j] * u[j];
        }
        return product(kernel, s, xx, uu);
      default:
        throw new Error("spkm: unknown kernel " + JSON.stringify(kernel.name) + ".");
    }
  }

  function profile(kernel, s) {
    if (kernel.name === "rbf") return Math.exp(-s);
    if (kernel.name === "rational_quadratic") return Math.pow(1 + s / kernel.alpha, -kernel.alpha);
    const root = Math.sqrt(4 * kernel.nu * s);
    return (kernel.nu === 1.5 ? 1 + root : 1 + root + root * root / 3) * Math.exp(-root);
  }

  function product(kernel, dot, xx, uu) {
    if (kernel.name === "linear") return dot;
    if (kernel.name === "tanimoto") {
      const union = xx + uu - dot;
      return union <= 0 ? dot : dot / union;
    }
    const q = kernel.coef0;
    if (kernel.name === "polynomial") return power(dot + q, kernel.degree);
    return power((dot + q) / Math.sqrt((xx + q) * (uu + q)), kernel.degree);
  }

  function power(base, degree) {
    let result = 1;
    for (let i = 0; i < degree; i++) result *= base;
    return result;
  }

  // The features of a member on its own scale; a bound of null is none.
  function scaledMember(member, row) {
    const s = member.scaling;
    return member.features.map((feature, j) => {
      const x = row[feature];
      if (s === null) return x;
      let z = (x - s.center[j]) / s.scale[j];
      if (s.low[j] !== null && z < s.low[j]) z = s.low[j];
      if (s.high[j] !== null && z > s.high[j]) z = s.high[j];
      return z;
    });
  }

  function memberSimilarities(member, row) {
    const z = scaledMember(member, row), found = [];
    for (const term of member.terms) {
      for (let r = 0; r < term.weights.length; r++) {
        let k = 1;
        for (const view of term.views) k *= value(view.kernel, view.columns.map((c) => z[c]), view.basis[r]);
        found.push(k);
      }
    }
    return found;
  }

  // The numbers of a row of the table, as the encoder of the fit makes them.
  function encoded(row) {
    const { columns, plans } = plain.encoder, found = [];
    if (row.length !== columns.length) {
      throw new Error("spkm: a row must have " + columns.length + " values; got " + row.length + ".");
    }
    plans.forEach((plan, j) => {
      if (plan === null) return;
      const cell = row[j], absent = cell === null || cell === undefined || Number.isNaN(cell);
      if (plan.levels !== undefined) {
        const name = absent ? null : level(cell, plan);
        // The same number in the other precision has another name.
        const text = Object.prototype.hasOwnProperty.call(plan.twins, name) ? plan.twins[name] : name;
        for (const one of plan.levels) found.push(one === text ? 1 : 0);
        if (plan.other) found.push(absent || plan.levels.includes(text) ? 0 : 1);
      } else {
        const number = absent ? plan.fill : numberOf(cell, plan);
        if (plan.value) found.push(number);
      }
      if (plan.missing) found.push(absent ? 1 : 0);
    });
    return found;
  }

  // The name of a level as Python writes it: 20 for 20.0, 1e-05 for 0.00001. A number that may stand for several levels
  // is refused.
  function level(cell, plan) {
    if (typeof cell === "boolean") return cell ? "True" : "False";
    if (typeof cell !== "number") return String(cell);
    if (Number.isInteger(cell)) {
      const name = BigInt(cell).toString();
      if (!Number.isSafeInteger(cell) && plan.levels.some((one) => one !== name && Number(one) === cell)) {
        throw new Error("spkm: whole numbers beyond 2^53 must be texts in column " + JSON.stringify(plan.column) + ".");
      }
      return name;
    }
    if (Math.abs(cell) >= 1e-4) return String(cell);
    return cell.toExponential().replace(/e-(\d)$/, "e-0$1");
  }

  function numberOf(cell, plan) {
    const text = String(cell).trim();
    let number = typeof cell === "number" ? cell : NaN;
    if (typeof cell === "boolean" || (plan.boolean && /^(true|false)$/i.test(text))) {
      number = text.toLowerCase() === "true" ? 1 : 0;
    } else if (typeof cell === "string" && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) {
      number = Number(text);
    }
    if (Number.isNaN(number) || (plan.boolean && number !== 0 && number !== 1)) {
      const what = plan.boolean ? " must hold truths; got " : " must hold numbers; got ";
      throw new Error("spkm: column " + JSON.stringify(plan.column) + what + JSON.stringify(cell) + ".");
    }
    return number;
  }

  function check(row) {
    if (plain.encoder) row = encoded(row);
    if (row.length !== plain.n_features) {
      throw new Error("spkm: a row must have " + plain.n_features + " numbers; got " + row.length + ".");
    }
    for (const x of row) {
      if (typeof x !== "number" || !Number.isFinite(x)) {
        throw new Error("spkm: a row must hold finite numbers; got " + String(x) + ".");
      }
    }
    return row;
  }

  const weightsOf = plain.members.map((member) => member.terms.flatMap((term) => term.weights));

  function scores(row) {
    row = check(row);
    return plain.members.flatMap((member, k) => {
      const found = memberSimilarities(member, row), weights = weightsOf[k];
      return member.intercept.map((b, m) => weights.reduce((sum, c, r) => sum + c[m] * found[r], 0) + b);
    });
  }

  function similarities(row) {
    row = check(row);
    return plain.members.flatMap((member) => memberSimilarities(member, row));
  }

  // What each basis vector adds to each score: one list for each vector.
  function contributions(row) {
    row = check(row);
    const several = plain.members.length > 1 || plain.combine !== "joint";
    return plain.members.flatMap((member, k) =>
      memberSimilarities(member, row).map((value, r) => {
        const own = weightsOf[k][r].map((c) => c * value);
        return several ? plain.members.map((_, other) => (other === k ? own[0] : 0)) : own;
      })
    );
  }

  function withConstants(F) {
    if (plain.constants === null) return F;
    let next = 0;
    return plain.constants.map((constant) => (constant === null ? F[next++] : constant));
  }

  function normalized(p) {
    const kept = p.map((v) => Math.max(v, TINY)), total = kept.reduce((a, b) => a + b, 0);
    return kept.map((v) => v / total);
  }

  function softmax(F) {
    const top = Math.max(...F), shares = F.map((f) => Math.exp(f - top)), total = shares.reduce((a, b) => a + b, 0);
    return shares.map((v) => v / total);
  }

  // Probabilities of classes from those of their pairs: Wu, Lin and Weng (2004), second method, a linear system.
  function coupled(P) {
    const n = plain.classes.length, A = [];
    for (let i = 0; i <= n; i++) A.push(new Array(n + 2).fill(0));
    let pair = 0;
    for (let a = 0; a < n; a++) {
      for (let b = a + 1; b < n; b++) {
        const p = Math.min(Math.max(P[pair++], SMALLEST_SHARE), 1 - SMALLEST_SHARE), q = 1 - p;
        A[a][b] = A[b][a] = -p * q;
        A[a][a] += p * p;
        A[b][b] += q * q;
      }
      A[a][n] = A[n][a] = 1;
    }
    A[n][n + 1] = 1;
    return normalized(solved(A).slice(0, n));
  }

  // The solution of a linear system whose right side is the last column, by elimination with pivots.
  function solved(A) {
    const n = A.length;
    for (let i = 0; i < n; i++) {
      let best = i;
      for (let r = i + 1; r < n; r++) if (Math.abs(A[r][i]) > Math.abs(A[best][i])) best = r;
      [A[i], A[best]] = [A[best], A[i]];
      for (let r = i + 1; r < n; r++) {
        const factor = A[r][i] / A[i][i];
        for (let c = i; c <= n; c++) A[r][c] -= factor * A[i][c];
      }
    }
    const x = new Array(n).fill(0);
    for (let i = n - 1; i >= 0; i--) {
      let rest = A[i][n];
      for (let c = i + 1; c < n; c++) rest -= A[i][c] * x[c];
      x[i] = rest / A[i][i];
    }
    return x;
  }

  // Probabilities of ordered classes: between two thresholds, as a product, which is exact for small ones too.
  function ordered(f) {
    const t = plain.thresholds, n = t.length;
    return plain.classes.map((_, k) => {
      const p = (k === 0 ? 1 : logistic(f - t[k - 1])) * (k === n ? 1 : logistic(t[k] - f));
      return k === 0 || k === n ? p : -p * Math.expm1(t[k - 1] - t[k]);
    });
  }

  // The probability of no event until each time of the baseline hazard; null if the model has none.
  function survival(row) {
    if (!plain.survival) return null;
    const risk = Math.exp(Math.min(scores(row)[0], EXP_FROM));
    return plain.survival.hazard.map((hazard) => Math.exp(-risk * hazard));
  }

  function pairShares(F) {
    return F.map((f) => logistic(plain.steepness * f));
  }

  function votes(F) {
    const P = pairShares(F), p = coupled(P), n = p.length, found = new Array(n).fill(0);
    let pair = 0;
    for (let a = 0; a < n; a++) {
      for (let b = a + 1; b < n; b++) {
        const share = P[pair++];
        found[b] += (p[a] + p[b]) * share;
        found[a] += (p[a] + p[b]) * (1 - share);
      }
    }
    return found;
  }

  // What a classifier decides by: a score for each class or label, or one for two classes.
  function decision(row) {
    const F = scores(row);
    return plain.combine === "pairs" ? votes(F) : withConstants(F);
  }

  function probabilities(row) {
    const F = scores(row);
    switch (plain.probabilities) {
      case null:
        return null;
      case "logistic":
        return [logistic(-F[0]), logistic(F[0])];
      case "softmax":
        return softmax(F);
      case "each":
        return withConstants(F).map(logistic);
      case "normalized":
        return normalized(withConstants(F).map(logistic));
      case "ordered":
        return ordered(F[0]);
      case "coupled":
        return coupled(pairShares(F));
      default:
        throw new Error("spkm: unknown kind of probabilities " + JSON.stringify(plain.probabilities) + ".");
    }
  }

  function predict(row) {
    const found = decision(row);
    if (plain.task === "labels") return found.map((f) => (f > 0 ? 1 : 0));
    if (plain.task === "ordered") return plain.classes[plain.cuts.filter((cut) => found[0] >= cut).length];
    if (plain.task === "classes") {
      if (!plain.two_dimensional) return plain.classes[found[0] > 0 ? 1 : 0];
      let best = 0;
      found.forEach((f, k) => { if (f > found[best]) best = k; });
      return plain.classes[best];
    }
    const numbers = plain.link === "exp" ? found.map((f) => Math.exp(Math.min(f, EXP_FROM))) : found;
    return plain.two_dimensional ? numbers : numbers[0];
  }

  function scaled(row) {
    row = check(row);
    return plain.members.map((member) => scaledMember(member, row));
  }

  return {
    plain, scaled, similarities, scores, contributions, decision, probabilities, predict, survival, kernelValue: value, solved,
  };
}

if (typeof module !== "undefined" && module.exports) module.exports = { spkmModel };
