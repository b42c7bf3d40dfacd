"""Scores of LongBench's metrics by their reference implementations, for core's tests.

    pip install lm_eval==0.4.13 rouge==1.0.1 fuzzywuzzy==0.18.0 Levenshtein jieba six
    python tests/longbench_fixture.py

writes tests/fixtures/longbench.json. The metrics are those of THUDM/LongBench as lm-evaluation-harness carries them, whose
likeness of code passes over empty lines, which the examples do not have.
"""

import importlib.util
import json
import pathlib
import random
import sys
import types

try:
    import jieba  # noqa: F401, for Chinese, which is not compared
except ImportError:
    sys.modules["jieba"] = types.ModuleType("jieba")

# The module alone: its package wants what the metrics do not.
package = pathlib.Path(importlib.util.find_spec("lm_eval").origin).parent
spec = importlib.util.spec_from_file_location("metrics", package / "tasks/longbench/metrics.py")
metrics = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics)

WORDS = ("The the a an cat cats sat on mat. Mat, it's 3 42 x_y Paragraph 7 (seven) é naïve – - "
         "return foo(bar) # // ` if x: . ..").split()
CLASSES = ["Person", "Other", "Other entity", "entity", "Group", "number"]


def text(draw, most):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randrange(most)))


if __name__ == "__main__":
    draw = random.Random(5)
    examples = []
    for name in ["qa_f1_score", "rouge_score", "count_score", "retrieval_score", "code_sim_score"]:
        for _ in range(60):
            said, right = text(draw, 14), text(draw, 14)
            if name == "retrieval_score":
                right = f"Paragraph {draw.choice([3, 7, 42])}"
            if name == "count_score":
                right = draw.choice(["3", "42", "7"])
            if draw.random() < 0.1:
                said = right
            score = getattr(metrics, name)(said, right)
            examples.append({"metric": name, "said": said, "right": right, "score": score})
    for _ in range(60):
        said = ", ".join(draw.choice(CLASSES) for _ in range(draw.randrange(4)))
        right = draw.choice(CLASSES)
        score = metrics.classification_score(said, right, all_classes=CLASSES)
        examples.append({"metric": "classification_score", "said": said, "right": right, "classes": CLASSES, "score": score})
    out = pathlib.Path(__file__).parent / "fixtures/longbench.json"
    out.write_text("[\n" + ",\n".join(json.dumps(example, ensure_ascii=False) for example in examples) + "\n]\n")
    print(len(examples), "examples")
