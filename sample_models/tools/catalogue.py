"""The sample models: what each is, where it comes from, and how it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools import networks
from tools.networks import Built, vision

BSD = "BSD-3-Clause (torchvision)"
APACHE = "Apache-2.0 (transformers)"
LLAMA = "code Apache-2.0 (transformers); trained weights, which are not here, under the Llama 2 licence"


@dataclass(frozen=True)
class Sample:
    """A sample model; ``licence`` is that of the code which describes the architecture."""

    name: str
    description: str
    source: str
    licence: str
    paper: str
    build: Callable[[], Built]


SAMPLES = (
    Sample(
        "alexnet",
        "AlexNet, one 224 × 224 image: a chain of convolutions and three large matrices",
        "torchvision.models.alexnet()",
        BSD,
        "Krizhevsky 2014, One weird trick for parallelizing convolutional neural networks",
        vision("alexnet"),
    ),
    Sample(
        "resnet18",
        "ResNet-18, one 224 × 224 image: residual blocks, almost a chain",
        "torchvision.models.resnet18()",
        BSD,
        "He et al. 2016, Deep residual learning for image recognition",
        vision("resnet18"),
    ),
    Sample(
        "vgg16",
        "VGG-16, one 224 × 224 image: a chain, heavy in compute and in weights",
        "torchvision.models.vgg16()",
        BSD,
        "Simonyan and Zisserman 2015, Very deep convolutional networks for large-scale image recognition",
        vision("vgg16"),
    ),
    Sample(
        "densenet121",
        "DenseNet-121, one 224 × 224 image: every layer reads all layers of its block",
        "torchvision.models.densenet121()",
        BSD,
        "Huang et al. 2017, Densely connected convolutional networks",
        vision("densenet121"),
    ),
    Sample(
        "gpt2",
        "GPT-2 small (117M), a prompt of 1024 tokens: twelve transformer blocks",
        "transformers GPT2LMHeadModel(GPT2Config()), 1024 tokens",
        APACHE,
        "Radford et al. 2019, Language models are unsupervised multitask learners",
        lambda: networks.gpt2(1024),
    ),
    Sample(
        "gpt2_decode",
        "GPT-2 small (117M), one new token after 1023 others (keys and values cached)",
        "transformers GPT2LMHeadModel(GPT2Config()), 1 token after 1023",
        APACHE,
        "Radford et al. 2019, Language models are unsupervised multitask learners",
        lambda: networks.gpt2_decode(1023),
    ),
    Sample(
        "googlenet",
        "GoogLeNet, one 224 × 224 image: nine modules of four parallel branches",
        "torchvision.models.googlenet(aux_logits=False)",
        BSD,
        "Szegedy et al. 2015, Going deeper with convolutions",
        vision("googlenet", aux_logits=False, init_weights=False),
    ),
    Sample(
        "inception_v3",
        "Inception v3, one 299 × 299 image: eleven modules with up to six branch ends",
        "torchvision.models.inception_v3(aux_logits=False)",
        BSD,
        "Szegedy et al. 2016, Rethinking the Inception architecture for computer vision",
        vision("inception_v3", 299, aux_logits=False, init_weights=False),
    ),
    Sample(
        "resnet50",
        "ResNet-50, one 224 × 224 image: residual blocks with bottlenecks",
        "torchvision.models.resnet50()",
        BSD,
        "He et al. 2016, Deep residual learning for image recognition",
        vision("resnet50"),
    ),
    Sample(
        "mobilenet_v2",
        "MobileNet v2, one 224 × 224 image: depthwise convolutions, little compute",
        "torchvision.models.mobilenet_v2()",
        BSD,
        "Sandler et al. 2018, MobileNetV2: inverted residuals and linear bottlenecks",
        vision("mobilenet_v2"),
    ),
    Sample(
        "vit_b_16",
        "Vision Transformer B/16, one 224 × 224 image: twelve transformer blocks over 197 patches",
        "torchvision.models.vit_b_16()",
        BSD,
        "Dosovitskiy et al. 2021, An image is worth 16x16 words",
        vision("vit_b_16"),
    ),
    Sample(
        "bert_base",
        "BERT-base, a text of 384 tokens: twelve transformer blocks",
        "transformers BertModel(BertConfig()), 384 tokens",
        APACHE,
        "Devlin et al. 2019, BERT: pre-training of deep bidirectional transformers",
        lambda: networks.bert_base(384),
    ),
    Sample(
        "moe_block",
        "One transformer block with eight experts of Mixtral-8x7B's size, 512 tokens, half precision",
        "tools/mixture.py: Mixtral-8x7B's dimensions, expert-choice routing, 512 tokens, half precision",
        "MIT (this project)",
        "Jiang et al. 2024, Mixtral of experts; Zhou et al. 2022, Mixture-of-experts with expert choice",
        lambda: networks.moe_block(512),
    ),
    Sample(
        "llama2_7b",
        "Llama 2 7B, a prompt of 512 tokens, half precision: 32 transformer blocks",
        "transformers LlamaForCausalLM(LlamaConfig()) = Llama-2-7B, 512 tokens, half precision",
        LLAMA,
        "Touvron et al. 2023, Llama 2: open foundation and fine-tuned chat models",
        lambda: networks.llama2_7b(512),
    ),
)
