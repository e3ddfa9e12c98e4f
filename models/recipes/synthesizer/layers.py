"""Building blocks: dense convolutions over [batch, time, channels].

The same weight is used in two forms. Training runs a Conv2d over channels-last memory, which is physically
[B, T, C] and the fastest form on CPU and GPU. The exported graphs concatenate shifted copies and multiply by one
matrix, which ONNX Runtime runs about twice as fast as a Conv with transposes, and which keeps batch rows
independent of each other to the last bit."""

import torch
import torch.nn as nn
import torch.nn.functional as F

EXPORT = False  # set by export.py while graphs are traced (and by check code that wants the exported form)


def set_export(value):
    """Chooses the form of every convolution, see the module's docstring."""
    global EXPORT
    EXPORT = value


class Conv(nn.Module):
    """Convolution over time with "same" zero padding. x [B, T, inputs] -> [B, T, outputs]."""

    def __init__(self, inputs, outputs, kernel, dilation=1):
        super().__init__()
        self.inputs, self.outputs, self.kernel, self.dilation = inputs, outputs, kernel, dilation
        # Layout [outputs, kernel, inputs]: flat, it is the matrix of the concatenated form; viewed, it is a
        # channels-last Conv2d kernel without a copy.
        self.weight = nn.Parameter(torch.randn(outputs, kernel, inputs) * (kernel * inputs) ** -0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        reach = self.dilation * (self.kernel // 2)
        if EXPORT:
            padded = F.pad(x, (0, 0, reach, reach))
            ends = [i * self.dilation - 2 * reach or None for i in range(self.kernel)]  # from the end: no shape arithmetic
            shifted = [padded[:, i * self.dilation:end] for i, end in enumerate(ends)]
            return torch.matmul(torch.cat(shifted, -1), self.weight.reshape(self.outputs, -1).t()) + self.bias
        kernel = self.weight.unsqueeze(1).permute(0, 3, 1, 2)  # [outputs, inputs, 1, kernel], channels-last
        image = x.permute(0, 2, 1).unsqueeze(2)
        y = F.conv2d(image, kernel, self.bias, padding=(0, reach), dilation=(1, self.dilation))
        return y.squeeze(2).permute(0, 2, 1)


class Linear(nn.Module):
    """x [..., inputs] -> [..., outputs]; scale multiplies the initial weights."""

    def __init__(self, inputs, outputs, scale=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * scale * inputs ** -0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        if EXPORT:
            return torch.matmul(x, self.weight.t()) + self.bias
        return F.linear(x, self.weight, self.bias)


class Block(nn.Module):
    """x + gate * Linear(GELU(Conv(LayerNorm(x)))), all [B, T, width].

    With `context` > 0 the normalisation is adaptive: a vector [B, context] gives scale, shift and gate."""

    def __init__(self, width, inner, kernel, dilation=1, context=0):
        super().__init__()
        self.width = width
        self.conv = Conv(width, inner, kernel, dilation)
        self.out = Linear(inner, width)
        self.context = context
        if context:
            self.adapt = Linear(context, 3 * width, scale=0.1)
            with torch.no_grad():
                self.adapt.bias[2 * width:] = 0.3
            # The exporter requires a weight, and ONNX Runtime's fusions require a bias.
            self.register_buffer("unit", torch.ones(width), persistent=False)
            self.register_buffer("zero", torch.zeros(width), persistent=False)
        else:
            self.norm_weight = nn.Parameter(torch.ones(width))
            self.norm_bias = nn.Parameter(torch.zeros(width))
            self.gate = nn.Parameter(torch.full((width,), 0.3))

    def adaptation(self, vector):
        """Scale, shift and gate, each f32 [B, 1, width], from a vector [B, context]."""
        return self.adapt(vector).float().unsqueeze(1).split([self.width] * 3, -1)

    def forward(self, x, mask, adaptation=None):
        """x [B,T,width] fp32; mask [B,T,1], 0 beyond the end (so that padding equals the convolution's own zeros)."""
        x = x.float()  # the residual stream stays fp32: CPU LayerNorm refuses bf16 with fp32 weights
        if self.context:
            scale, shift, gate = adaptation
            y = F.layer_norm(x, (self.width,), self.unit, self.zero) * (1.0 + scale) + shift
        else:
            gate = self.gate
            y = F.layer_norm(x, (self.width,), self.norm_weight, self.norm_bias)
        y = self.out(F.gelu(self.conv(y * mask)))
        return x + gate * y.float()
