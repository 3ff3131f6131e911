"""Benchmarks of grpo-core: `python -m benchmarks` runs all and prints one report.

- `python -m benchmarks imports`: what importing loads and costs.
- `python -m benchmarks cells`: what scoring a cell costs beyond calling the reward.
- `python -m benchmarks seam`: what `to_trl` costs in a real TRL run, and that losses stay equal.
- `python -m benchmarks tags`: `format/tags` on 1 MB of hostile text.
- `python -m benchmarks schema`: `schema/json` with and without jsonschema-rs.
- `python -m benchmarks math`: `math/answer_equals` against Math-Verify, and on hostile completions.
- `python -m benchmarks score_file`: `grpo score` on 200,000 rows, and that its memory stays flat.

Times are CPU times of one process, the least or the median of several, and ratios are taken in
one run, so that a busy machine changes little. A missed bound is printed and is no failure: the
exit code is 0 whenever everything ran.
"""
