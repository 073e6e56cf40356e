"""Rules of the house that no single file can keep: kernels, rooms and what they load.

The order of the rooms and the independence of kernel files are contracts in
`pyproject.toml`; here is what these cannot say.
"""

import ast
import importlib
import itertools
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import argmetric
from processes import run_program

PACKAGE = Path(argmetric.__file__).parent
TESTS = next(p for p in Path(__file__).resolve().parents if p.name == "tests")
DECORATORS = {"kernel", "borrowing", "inline_kernel", "inner", "kernel_without_fma"}


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = sorted(PACKAGE.rglob("*.py"))


# -- kernels ----------------------------------------------------------------------


def jitted(path):
    """The compiled functions of a file, by name."""
    return {
        node.name: node
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(one) in DECORATORS for one in node.decorator_list)
    }


def called(node):
    return {
        one.func.id
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }


KERNEL_FILES = {
    path.stem: path
    for path in [*PACKAGE.rglob("kernels/*.py"), *PACKAGE.glob("_ground/jit/*.py")]
    if path.stem != "__init__"
}
KERNELS = {
    stem: functions
    for stem, path in sorted(KERNEL_FILES.items())
    if (functions := jitted(path))
}

# The test that holds each compiled function that Python calls to a plain twin, to
# enumeration or to another library; those that these call are held along with them.
# A row is the file of kernels, the test and the functions.
ROWS = """
affine: test_curves_of_groups affine_curves
affine: test_the_stated_error_holds smooth_curves
automata: test_expectation_equals_enumeration additive_mean propagate
automata: test_bounds_of_a_beam_hold beam_run
automata: test_the_decoder_equals_its_twin_without_reuse count_layers dropped_counts
automata: test_every_metric_of_short_chains count_joint
automata: test_f_of_two_hundred_random_chains tilted_joint
automata: test_long_sequences_need_no_table_of_hits hit_counts
cells: test_distributions_at_random add_cells cell_moments fill_counts fill_pmfs
    place_cells
cells: test_distributions_of_many_groups trim_boxes
chains: test_messages_equal_enumeration forward_backward label_marginals pair_marginals
    viterbi
chains: test_span_marginals_equal_enumeration_and_sum expected_spans link_probs
    list_spans reaches
chains: test_exact_decoding_equals_enumeration span_probs
chains: test_a_crfsuite_model_gives_the_marginals_of_crfsuite state_scores
climb: test_labels_on_both_sides_of_a_limit_are_as_good climb
climb: test_the_best_of_all_labels_is_found presence_weights sums_of
cost_sensitive: test_linear_learners_equal_their_twin learn score_actions
cost_sensitive: test_products_of_features count_products fill_products
cost_sensitive: test_joint_rows_and_matrices fill_joint
draws: test_distributions_are_those_of_all_outcomes all_tables
draws: test_odds_of_levels_are_those_of_plain_rows add_expected draw_tables
draws: test_no_metric_scores_less_than_the_most_probable_classes tables_of_both
effects: test_the_posterior_is_that_of_importance_sampling bin_odds label_likelihood
    rates_of_strata
exact: test_the_best_of_all_labels_is_found climb_exact
exact: test_no_labels_pass_the_bound weights_at
exact: test_accuracy_has_the_distribution_of_a_count count_distribution
exact: test_expected_scores_are_exact_to_rounding exact_values ratio_means
exponential: test_curves_of_groups hit_curves ratio_curves
gmean: test_small_batches_against_all_truths_and_labels decide_groups score_groups
grouping: test_ids_that_lie_close_are_numbered_by_counting count_codes number_close_ids
grouping: test_shuffled_groups_are_decided_as_sorted_ones number_ids
grouping: test_mixed_texts_equal_whole_numbers mix_texts
grouping: test_rows_of_a_group_stay_in_order bin_rows group_binned_rows group_rows
intervals: test_exact_decoding_equals_enumeration exact_sets
intervals: test_counts_decoding_equals_enumeration schedule
limits: test_gains_within_limits_are_the_best_of_all_labels best_within
logistic: test_a_pass_equals_its_twin dense_combine dense_margins dense_pass
    sparse_combine sparse_margins sparse_pass
logistic: test_expected_f_equals_its_twin expected_slopes expected_sums
logistic: test_gradient_of_the_expected_metric logistic_pairs
rates: test_the_search_finds_the_best_of_the_curve best_of_rates
per_row: test_labels_are_no_worse_than_those_of_the_published_loop count_labels
    improve_rows likely_entries column_moments
per_row: test_gains_of_rows_are_those_of_single_changes share_tables take_shares
per_row: test_the_expected_score_is_that_of_the_exact_distribution chosen_first
few_rows: test_tiny_matrices_get_the_best_expected_score_of_all_answers climb_few
rules: test_rules_equal_their_twins_for_f1 run_rule
confusions: test_classes_equal_the_twin run_classes
confusions: test_labels_equal_the_twin run_labels
choose: test_the_best_of_all_sets_is_found choose_sets
choose: test_forms_of_samples_agree score_samples
screen: test_decisions_equal_those_on_whole_curves pmfs_at power_sums_at rough_outcomes
    rough_pmfs rough_sums
screen: test_curves_in_pieces_and_batches fill_cells sum_cells widest_key
segments: test_floors bounded_counts
segments: test_curves_of_groups choose edge_logs prefix_means segment_moments
segments: test_decisions_equal_those_of_sorted_vectors bin_sums take_range
segments: test_groups_are_decided_as_they_are_alone count_and_p_none mark
segments: test_segments_are_sorted_stably sort_long sort_short
sequences: test_roll_in_and_costs roll_out walk
sequences: test_a_whole_fit search_beams
softmax: test_the_fit_is_the_optimum_of_the_plain_formula divide_rows lower_rows
    take_residuals
stream: test_learners_equal_their_twins compress linear_sparse mixture_sparse
stream_baselines: test_baselines_equal_their_twins baseline_sparse
summaries: test_grams_of_kept_words_are_counted count_grams
summaries: test_pieces_bring_what_recounting_the_text_says measure_pieces
summaries: test_spans_are_closed_under_what_they_need close_spans
summaries: test_words_hang_as_their_parts_do word_heads
tables: test_curves_of_groups harmonic_curves table_curves
tables: test_short_vectors_do_not_depend_on_what_is_loaded both_pmfs
tables: test_means_over_groups_move_with_the_calibrator table_moments
tagging: test_searches_equal_the_twin beam greedy static_scores
tagging: test_a_wide_beam_is_exhaustive_and_forced_scores_agree score_forced
tagging: test_learning_equals_the_twin train
tagging_features: test_features_are_hashed_like_the_twin hash_halves hash_rows
tagging_features: test_memory_equals_the_twin fill_majority
transport: test_no_batch_within_limits_hangs_or_falls_below_the_simple_rules
    fill_greedily
vines: test_regrets_of_all_actions_equal_the_twin complete_each
weight_tables: test_decisions_and_costs score_decisions
weight_tables: test_a_whole_fit_is_that_of_hashed_weights learn_decisions
weights: test_a_scan_sees_every_break_point add_changes rivals take_over
weights: test_a_climb_ends_where_no_single_weight_helps confuse
"""
HELD_BY = defaultdict(dict)
for row in ROWS.replace("\n    ", " ").strip().split("\n"):
    file, test, *names = row.replace(":", "").split()
    HELD_BY[file][test] = names


def test_kernels_are_compiled_by_the_house_rules():
    """Two files know numba, and only kernel files use its decorators."""
    policy = [PACKAGE / "_ground/jit" / name for name in ("__init__.py", "lanes.py")]
    for path in SOURCES:
        imported = {name.split(".")[0] for name, _ in imports_of(path)}
        assert ("numba" in imported) == (path in policy), path
        if path.parent.name not in ("kernels", "jit"):
            assert not jitted(path), path


@pytest.mark.parametrize("file", KERNELS)
def test_every_kernel_is_held_by_a_test(file):
    functions = KERNELS[file]
    inner = set().union(*map(called, functions.values())) | called_elsewhere(file)
    held = [name for names in HELD_BY.get(file, {}).values() for name in names]
    assert sorted(held) == sorted(set(functions) - inner)
    assert set(HELD_BY.get(file, {})) <= all_tests()


def called_elsewhere(file):
    """Kernels of a file that kernels of other files import and call."""
    own = module_name(KERNEL_FILES[file])
    return {
        name
        for other in KERNELS
        for module, names in imports_of(KERNEL_FILES[other])
        if module == own
        for name in names
    } & all_called()


@cache
def all_called():
    return set().union(*(called(one) for fs in KERNELS.values() for one in fs.values()))


def test_no_test_holds_a_kernel_that_is_gone():
    assert set(HELD_BY) <= set(KERNELS)


@cache
def all_tests():
    return {
        node.name
        for path in TESTS.rglob("test_*.py")
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


# numba's cache makes a kernel file hold copies of what it calls. Functions of the same
# name are copies, but for these files:
NAMESAKES = {
    "descend": (
        "each learner keeps its weights in another layout",
        ("decisions", "stream"),
    )
}


def shared_names():
    files = defaultdict(list)
    for file, functions in KERNELS.items():
        for name in functions:
            files[name].append(file)
    return {name: found for name, found in files.items() if len(found) > 1}


def constants(file, name):
    """Values of what a compiled function takes from its file, functions apart."""
    module = importlib.import_module(module_name(KERNEL_FILES[file]))
    names = getattr(module, name).py_func.__code__.co_names
    values = {one: getattr(module, one) for one in names if hasattr(module, one)}
    return {
        one: value
        for one, value in values.items()
        if not callable(value) and not isinstance(value, ModuleType)
    }


@pytest.mark.parametrize("name", shared_names())
def test_copies_of_a_kernel_are_alike(name):
    texts = {file: ast.unparse(KERNELS[file][name]) for file in shared_names()[name]}
    _, others = NAMESAKES.get(name, ("", ()))
    copies = [file for file in texts if file not in others]
    for one, other in itertools.pairwise(copies):
        assert texts[one] == texts[other]
        np.testing.assert_equal(constants(one, name), constants(other, name))
    different = [texts[file] for file in (*others, *copies[:1])]
    assert len(set(different)) == len(different), "a namesake is a copy now"


def test_namesakes_are_those_that_there_are():
    assert set(NAMESAKES) <= set(shared_names())


# -- rooms ------------------------------------------------------------------------


@cache
def imports_of(path):
    return list(imports(tree(path)))


def imports(node):
    """Modules imported anywhere below, and the names taken from them."""
    for one in ast.walk(node):
        if isinstance(one, ast.ImportFrom):
            assert one.level == 0, "imports are absolute"
            yield one.module, [alias.name for alias in one.names]
        elif isinstance(one, ast.Import):
            for alias in one.names:
                yield alias.name, []


def is_at_home(own, other):
    """Whether a file lives in the room of a module, and there in its folder."""
    if own[1] != other[1]:
        return False
    houses = {parts[2] for parts in (own, other) if is_in_house(parts)}
    return len(houses) < 2


# Folders of rooms that have a face of their own inside
HOUSES = {"_searn", "check", "decide", "files", "guarantees", "jit", "tune"}


def is_in_house(parts):
    return parts[2:3] != () and parts[2] in HOUSES


def behind_faces():
    """Imports of what is private in another room."""
    for path in SOURCES:
        own = path.relative_to(PACKAGE.parent).with_suffix("").parts
        for module, names in imports_of(path):
            other = tuple(module.split("."))
            if other[0] != "argmetric" or len(other) == 1:
                continue
            inside = (*other[2:], *names)
            if any(map(is_private, inside)) and not is_at_home(own, other):
                yield f"{'/'.join(own)}.py takes {', '.join(names)} from {module}"


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def test_rooms_are_entered_by_their_face():
    found = list(behind_faces())
    assert not found, "\n".join(found)


# -- what is loaded ---------------------------------------------------------------

# Outside of `train`, only these load scikit-learn when they are imported.
LOADS_SKLEARN = {
    "argmetric.stream._classifier": "defines an estimator",
    "argmetric.stream._input": "rows and labels as the estimator checks them",
    "argmetric.stream._several": "classes and labels as the estimators check them",
    "argmetric.stream._state": "arrays of the estimator",
    "argmetric.stream._wrapper": "defines an estimator",
}

# What loads torch or triton, which need not be installed
NEEDS_TORCH = [
    f"argmetric.tensors.{name}"
    for name in (
        *("_achievable", "_fused", "_fused_curve", "_fused_items", "_fused_loss"),
        *("_fused_masks", "_fused_rows", "_fused_window", "_losses"),
    )
]


def may_load_sklearn(module):
    return module.startswith("argmetric.train") or module in LOADS_SKLEARN


def test_scikit_learn_is_loaded_by_estimators_alone():
    names = [module_name(path) for path in SOURCES if path.stem != "__main__"]
    names = [name for name in names if name not in NEEDS_TORCH]
    program = (
        "import importlib, sys\n"
        f"for name in {[name for name in names if not may_load_sklearn(name)]}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'sklearn' not in sys.modules, f'{name} loads scikit-learn'\n"
    )
    run_program(program)


@pytest.mark.parametrize("module", LOADS_SKLEARN)
def test_what_may_load_scikit_learn_does(module):
    path = PACKAGE.parent / (module.replace(".", "/") + ".py")
    at_load = ast.Module(
        [
            one
            for one in tree(path).body
            if isinstance(one, ast.Import | ast.ImportFrom)
        ],
        [],
    )
    loaded = {name for name, _ in imports(at_load)}
    assert any(name.startswith("sklearn") or name in LOADS_SKLEARN for name in loaded)
