"""A dependency parser as a `Task`: arc-hybrid transitions, a dynamic oracle, beams.

python parsing_by_search.py                    # the three trees below
python parsing_by_search.py train.dp test.dp   # files of trees: .dp or .conllu
"""

import sys

from argmetric.search import LinearLearner, Searn, Task, check_task, read_trees


# [state]
class State:
    """A stack and a buffer of words, the heads so far, and each word's outer children.

    The buffer is all words from `front` on. Word 0 is ROOT, at the bottom of the stack;
    below it are two that stand for no word (-1).
    """

    __slots__ = ("front", "heads", "left", "right", "stack")

    def __repr__(self):
        return f"stack {self.stack[2:]}, buffer from {self.front}, heads {self.heads}"


# [task]
class Parsing(Task):
    """x is (words, tags) of `padded`, y the head of each word, ROOT's (-1) first."""

    def start(self, x):
        state, size = State(), len(x[0])
        state.stack, state.front = [-1, -1, 0], 1
        state.heads = [-1] * (size - 3)
        state.left, state.right = [-1] * size, [-1] * size
        return state

    def copy(self, state):
        twin = State()
        twin.stack, twin.front, twin.heads = state.stack[:], state.front, state.heads[:]
        twin.left, twin.right = state.left[:], state.right[:]
        return twin

    def actions(self, x, state):
        n_stacked = len(state.stack) - 3
        if state.front == len(state.heads):  # ROOT gets its one child last
            return ("right",) if n_stacked else ()
        return ("shift", "left", "right")[: n_stacked + 1]

    def step(self, x, state, action):
        if action == "shift":
            state.stack.append(state.front)
            state.front += 1
            return state
        child = state.stack.pop()
        head = state.front if action == "left" else state.stack[-1]
        outermost = state.left if action == "left" else state.right
        state.heads[child], outermost[head] = head, child
        return state

    def output(self, x, state):
        return state.heads[1:]

    def loss(self, y, output):
        return float(sum(a != b for a, b in zip(y[1:], output, strict=True)))

    def costs(self, x, y, state):
        legal, stack, front = self.actions(x, state), state.stack, state.front
        if len(legal) == 1:
            return [0]
        top = stack[-1]
        lost = y[front:].count(top)  # its children to come, if it leaves the stack
        shift = (y[front] in stack[:-1]) + sum(y[word] == front for word in stack[3:])
        left = lost + (y[top] > front or y[top] == stack[-2])
        right = lost + (y[top] >= front)
        return (shift, left, right)[: len(legal)]

    # [features]
    def features(self, x, state):
        words, tags = x
        stack, front = state.stack, state.front
        s2, s1, s0 = stack[-3:]
        w0, w1, v0, v1 = words[s0], words[s1], words[front], words[front + 1]
        p0, p1, p2 = tags[s0], tags[s1], tags[s2]
        q0, q1, q2 = tags[front], tags[front + 1], tags[front + 2]
        l0, l1, k0 = [tags[state.left[word]] for word in (s0, s1, front)]
        r0, r1 = tags[state.right[s0]], tags[state.right[s1]]
        return [
            f"a{w0}", f"b{p0}", f"c{w0} {p0}", f"d{w1}", f"e{p1}", f"f{w1} {p1}",
            f"g{v0}", f"h{q0}", f"i{v0} {q0}", f"j{v1}", f"k{q1}", f"l{p2}", f"m{q2}",
            f"n{w0} {v0}", f"o{w0} {q0}", f"p{p0} {v0}", f"q{p0} {q0}",
            f"r{w1} {w0}", f"s{w1} {p0}", f"t{p1} {w0}", f"u{p1} {p0}",
            f"v{p1} {p0} {q0}", f"w{p0} {q0} {q1}", f"x{p2} {p1} {p0}",
            f"y{q0} {q1} {q2}", f"z{p1} {p0} {q0} {q1}", f"A{w0} {q0} {q1}",
            f"B{p1} {w0} {q0}", f"C{w1} {p0} {q0}", f"D{p1} {p0} {v0}",
            f"E{p0} {l0} {r0}", f"F{p1} {l1} {r1}", f"G{p1} {p0} {l0}",
            f"H{p1} {p0} {r0}", f"I{p1} {r1} {p0}", f"J{p0} {q0} {k0}",
            f"K{w0} {l0} {r0}",
        ]  # fmt: skip


# [data]
def padded(words, tags):
    """Words 0 (ROOT) to n, and three blanks: of the end, and of no word (-1)."""
    return ["<ROOT>", *words, "", "", ""], ["<ROOT>", *tags, "", "", ""]


def read(path):
    """Inputs and heads of a file of trees."""
    trees = read_trees(path)
    X = [padded(tree.words, tree.tags) for tree in trees]
    return X, [[-1, *tree.heads.tolist()] for tree in trees]


def tiny():
    """Three trees, for those who have no file."""
    trees = [
        ("the/DT cat/NN sleeps/VBZ ./.", [2, 3, 0, 3]),
        ("dogs/NNS see/VBP a/DT big/JJ cat/NN", [2, 0, 5, 5, 2]),
        ("a/DT cat/NN in/IN the/DT sun/NN sleeps/VBZ", [2, 6, 2, 5, 3, 0]),
    ]
    pairs = [[token.split("/") for token in text.split()] for text, _ in trees]
    X = [padded(*map(list, zip(*tokens, strict=True))) for tokens in pairs]
    return X, [[-1, *heads] for _, heads in trees]


# [fit]
def learn(X, Y, folds=4):
    """A parser that was trained on its own mistakes."""
    learner = LinearLearner(epochs=8, hash_bits=20)
    searn = Searn(
        Parsing(), learner, beta=1.0, iterations=3, cross_validation=folds, verbose=1
    )
    return searn.fit(X, Y)


def uas(Y, outputs):
    """Share of words with the right head."""
    wrong = sum(Parsing().loss(y, output) for y, output in zip(Y, outputs, strict=True))
    return 1 - wrong / sum(map(len, outputs))


def main(paths):
    train = read(paths[0]) if paths else tiny()
    test = read(paths[1]) if len(paths) > 1 else train
    short = [(x, y) for x, y in zip(*train, strict=True) if len(y) < 8][:5]
    print(check_task(Parsing(), short))
    searn = learn(*train, folds=4 if len(train[0]) >= 50 else None)
    for beam in (1, 8):
        searn.set_params(beam=beam)
        print(f"beam {beam}: UAS {uas(test[1], searn.predict(test[0])):.2%}")


if __name__ == "__main__":
    main(sys.argv[1:])
