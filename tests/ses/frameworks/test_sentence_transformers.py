"""Our models where a SentenceTransformer is expected."""

import numpy as np
import pytest

import ses
from corpora.errors import InputError
from eval.measures.similarity import PAIRWISE, SIMILARITIES
from ses.frameworks.sentence_transformers import SentenceEncoder, sentence_transformer
from tests.tiny import make_model

TEXTS = ["virus lung", "quantum star galaxy", "brain"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return ses.load_model(str(make_model(folder / "model", codes=True)), cache_dir=folder / "cache")


def test_formats_are_prompts(model):
    encoder = SentenceEncoder(model)
    assert encoder.prompts == {
        **{name: f"[{name.upper()}] " for name in model.formats},
        "query": "[QRY] ",
        "document": "[PRX] ",
        "passage": "[PRX] ",
    }
    np.testing.assert_array_equal(encoder.encode(TEXTS), model.encode(TEXTS, "prx"))
    np.testing.assert_array_equal(encoder.encode(TEXTS, "query"), model.encode(TEXTS, "qry"))
    np.testing.assert_array_equal(encoder.encode(TEXTS, prompt_name="clf"), model.encode(TEXTS, "clf"))
    np.testing.assert_array_equal(encoder.encode_query(TEXTS, batch_size=2), model.encode(TEXTS, "qry"))
    np.testing.assert_array_equal(encoder.encode_query(TEXTS, "rgn"), model.encode(TEXTS, "rgn"))
    np.testing.assert_array_equal(encoder.encode_document(TEXTS, show_progress_bar=True), model.encode(TEXTS, "prx"))
    np.testing.assert_array_equal(encoder.encode_document(TEXTS, "rgn"), model.encode(TEXTS, "rgn"))
    np.testing.assert_array_equal(SentenceEncoder(model, "qry").encode(TEXTS), model.encode(TEXTS, "qry"))
    with pytest.raises(InputError, match="no prompt 'sts'; choose one of clf, rgn, prx, qry, query"):
        encoder.encode(TEXTS, "sts")
    with pytest.raises(InputError, match="no prompt 'sts'"):
        SentenceEncoder(model, "sts")


def test_shapes_and_lengths(model):
    encoder = SentenceEncoder(model)
    whole = model.encode(TEXTS)
    assert (encoder.get_sentence_embedding_dimension(), encoder.get_embedding_dimension()) == (64, 64)
    assert (encoder.max_seq_length, encoder.get_max_seq_length(), encoder.device) == (128, 128, "cpu")
    np.testing.assert_array_equal(encoder.encode("brain"), model.encode(["brain"])[0])
    np.testing.assert_array_equal(encoder.encode(tuple(TEXTS), truncate_dim=5), whole[:, :5])
    unit = whole[:, :5] / np.linalg.norm(whole[:, :5], axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.encode(TEXTS, normalize_embeddings=True, truncate_dim=5), unit, rtol=1e-6)
    assert encoder.encode([]).shape == (0, 64)


def test_similarities_are_those_of_the_model(model):
    encoder = SentenceEncoder(model)
    names = {"cosine": "cosine", "dot": "dot", "l2": "euclidean"}
    kind, rows = model.card.similarity, model.encode(TEXTS)
    assert encoder.similarity_fn_name == names[kind]
    np.testing.assert_array_equal(encoder.similarity(rows, rows[0]), SIMILARITIES[kind](rows, rows[:1]))
    np.testing.assert_array_equal(encoder.similarity_pairwise(rows, rows[::-1]), PAIRWISE[kind](rows, rows[::-1]))


def test_what_the_model_can_not_do_is_refused(model):
    encoder = SentenceEncoder(model)
    for given in ({"prompt": "query: "}, {"precision": "int8"}, {"output_value": "token_embeddings"}):
        with pytest.raises(InputError, match=f"(give a|leave.*) {next(iter(given))}"):
            encoder.encode(TEXTS, **given)
    with pytest.raises(InputError, match="reads texts only"):
        encoder.encode([("a", "b")])
    with pytest.raises(InputError, match="has its settings already"):
        SentenceEncoder(model, threads=1)


@pytest.mark.torch
def test_tensors(model):
    import torch

    encoder, rows = SentenceEncoder(model), model.encode(TEXTS)
    found = encoder.encode(TEXTS, convert_to_tensor=True)
    assert torch.equal(found, torch.as_tensor(rows))
    several = encoder.encode(TEXTS, convert_to_numpy=False)
    assert all(map(torch.equal, several, found))
    assert torch.equal(encoder.similarity(found, rows), torch.as_tensor(encoder.similarity(rows, rows)))
    assert torch.equal(encoder.similarity_pairwise(rows, found), encoder.similarity_pairwise(found, rows))


@pytest.mark.slow
@pytest.mark.mteb
def test_a_sentence_transformer_itself(model):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    made = sentence_transformer(model, default_prompt_name="clf")
    assert isinstance(made, SentenceTransformer)
    np.testing.assert_array_equal(made.encode(TEXTS), model.encode(TEXTS, "clf"))
    evaluate = InformationRetrievalEvaluator(
        {"1": "virus lung"}, dict(zip("abc", TEXTS, strict=True)), {"1": {"a"}}, name="mine", accuracy_at_k=[1]
    )
    closeness = SIMILARITIES[model.card.similarity](model.encode(["virus lung"], "qry"), model.encode(TEXTS, "prx"))
    assert evaluate(made)[f"mine_{made.similarity_fn_name}_accuracy@1"] == float(closeness.argmax() == 0)
