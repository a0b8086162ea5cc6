r"""How far the error of a fitted classifier on new samples can be from what its training samples show.

The scores are f(x) = b + sum_t sum_r c_tr k_t(x, u_tr); a term's kernel may have values a k + s, as 2k - 1 has. All of
what follows is for kernels **fixed before the samples were seen**, on inputs with k_t(x, x) <= tau_t. Everything else
(basis vectors, their number, weights, intercept, penalties, loss, solver, sample weights) may depend on the samples in
any way: what is shown holds for all models of the class at once. Nothing is assumed of the basis vectors but where
the l1 norm is used with a kernel that is bounded on a ball only.

**Rademacher complexity**, E sup_f (1/n) sum_i sigma_i f(x_i) over random signs sigma. Write Z = sum_i sigma_i
phi(x_i); then E|Z|^2 = sum_i k(x_i, x_i) <= n tau, and E|sum_i sigma_i| <= sqrt(n). Hence, for one term:

- ``rkhs``: the part of f that is not constant has norm at most Gamma and the constant, b + s sum(c), is at most B:
  sup <f, Z>/n gives **Gamma sqrt(tau/n) + B/sqrt(n)**.
- ``l1``: sum_r |c_r| <= Lambda, |b| <= B: the sum over r is at most Lambda sup_u |a <phi(u), Z> + s sum_i sigma_i|,
  and |phi(u)| <= sqrt(tau), which gives **(|a| tau + |s|) Lambda/sqrt(n) + B/sqrt(n)**: tau Lambda/sqrt(n) of a
  kernel as it is, (2 tau + 1) Lambda/sqrt(n) of 2k - 1.

A term of several views has the product of their taus. Several terms live in the sum of their spaces: tau is the sum
of theirs; with ``l1``, where a maximum over terms is at most the root of a sum of squares, |a| tau + |s| is the root
of the sum of the squares of theirs. As Gamma <= |a| sqrt(tau) Lambda, ``rkhs`` is never the weaker one for one term.

**Margin bound, two classes** (Mohri, Rostamizadeh, Talwalkar 2018, theorem 5.8). Let y be -1 or +1, let the ramp be
min(1, max(0, 1 - y f(x)/rho)). For one class of functions and one margin rho, with probability 1 - delta, for all f

    P(y f(x) <= 0)  <=  mean ramp of the samples  +  (2/rho) Rademacher  +  sqrt(log(1/delta) / (2n)).

The complexity is the expected one; as the bounds above do not depend on the samples, no second confidence term is due.

**Margin bound, m > 2 classes.** Now f has m outputs, and the margin is that of the right class over the best other
one. It does not change when the same is added to all outputs, so weights and constants are taken with their mean over
the outputs subtracted. It is sqrt(2)-Lipschitz in the Euclidean norm of the m scores; by the vector contraction of
Maurer (2016), another sqrt(2), the term becomes (2/rho) * 2 * Rademacher with signs for each sample *and* output. The
signs, too, count only up to their mean over outputs, so that E|Z|^2 <= (m - 1) n tau: the complexities above are
multiplied by sqrt(m - 1), with Gamma^2 the sum over outputs, Lambda = sum_r |c_r|_2 over rows of C, and B = |b|_2.

**Sizes and margin chosen after the fact.** The bound of f with margin rho is that of f/rho with margin 1, so that only
ratios count: G = (kernel part of sqrt(n) Rademacher)/rho and H = (constant part)/rho. Let both run through the powers
2^(j/4), j any integer, with confidence shared out as p_j = (2/3) / ((|j|+1) (|j|+2)), which sums to one; half of the
confidence goes to models whose constant is zero. By the union bound, at once for all f and **all margins**,

    error  <=  mean ramp  +  (2 L / sqrt(n)) (2^(i/4) + 2^(j/4))  +  sqrt((log(1/delta) + log(2 N/(p_i p_j))) / (2n))

for all i, j with 2^(i/4) >= G and 2^(j/4) >= H (if the constant is zero, the terms of j are left out), L = 1
for two classes and 2 for more, and N the number of kernels of a list stated beforehand.

References
----------
Mohri, Rostamizadeh, Talwalkar: Foundations of machine learning, 2nd edition, MIT Press 2018.
Maurer: A vector-contraction inequality for Rademacher complexities, ALT 2016.
Huusari, Bhadra, Capponi, Kadri, Rousu: Learning primal-dual sparse kernel machines (the l1 form).
"""

from spkm.theory._bounds import GeneralizationBound, RademacherBound, generalization_bound, rademacher_complexity
from spkm.theory._occam import OccamBound, held_out_bound, occam_bound
from spkm.theory._quantized import quantized

__all__ = [
    "GeneralizationBound",
    "OccamBound",
    "RademacherBound",
    "generalization_bound",
    "held_out_bound",
    "occam_bound",
    "quantized",
    "rademacher_complexity",
]
