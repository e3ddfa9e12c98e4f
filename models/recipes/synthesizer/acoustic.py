"""The acoustic model: characters -> hidden states and durations -> F0 and voicing -> mel by flow matching.

Three parts, exported as three graphs:
  Encoder    characters, voice, speed -> one hidden vector and one log duration per character
  Condition  hidden vectors spread over frames -> F0 and voicing (deterministic) and the condition of the flow
  Decoder    one Euler step of the flow over patches of two mel frames, given the condition
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import layers
from config import F0_MEAN, F0_SCALE, N_MELS, SYMBOLS, VOICES
from layers import Block, Linear

HIDDEN = 192  # H: width of the encoder
CONDITION = 256  # C: width of the condition
PATCH = 2


class Encoder(nn.Module):
    def __init__(self, voices=len(VOICES)):
        super().__init__()
        self.symbols = nn.Embedding(len(SYMBOLS), HIDDEN)
        self.voices = nn.Embedding(voices, HIDDEN)
        nn.init.normal_(self.voices.weight, std=0.3)
        self.speed = Linear(2, HIDDEN)
        # Reach: 2 + 2 + 2 + 4 + 16 + 32 = 58 characters each side, about a clause and a half: intonation and pauses
        # depend on the mark that ends the clause.
        shape = [(5, 1), (5, 1), (3, 2), (3, 4), (5, 8), (5, 16)]
        self.blocks = nn.ModuleList([Block(HIDDEN, 2 * HIDDEN, kernel, dilation) for kernel, dilation in shape])
        self.norm_weight = nn.Parameter(torch.ones(HIDDEN))
        self.norm_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.duration_blocks = nn.ModuleList([Block(HIDDEN, HIDDEN, 3), Block(HIDDEN, HIDDEN, 3)])
        self.duration = Linear(HIDDEN, 1)
        with torch.no_grad():
            self.duration.bias.fill_(2.0)

    def forward(self, tokens, voice, log_speed):
        """tokens i64 [B,N] (0 = pad), voice i64 [B], log_speed f32 [B] (ln of words per minute / 160)
        -> hidden f32 [B,N,H], log_duration f32 [B,N] (log(1 + frames); 0 at padding)."""
        mask = (tokens > 0).float().unsqueeze(-1)
        speed = self.speed(torch.stack([log_speed, log_speed * log_speed], -1))
        x = self.symbols(tokens) + (self.voices(voice) + speed).unsqueeze(1)
        for block in self.blocks:
            x = block(x, mask)
        hidden = F.layer_norm(x, (HIDDEN,), self.norm_weight, self.norm_bias) * mask
        y = hidden
        for block in self.duration_blocks:
            y = block(y, mask)
        return hidden, F.relu(self.duration(y).float().squeeze(-1)) * mask.squeeze(-1)


class Condition(nn.Module):
    """F0 and voicing by plain regression (a contour is a function of the text here, and sampling it only made
    it rough), then the condition of the flow, which sees that F0."""

    def __init__(self, voices=len(VOICES), width=160, inner=320):
        super().__init__()
        self.width = width
        features = PATCH * (HIDDEN + 3)
        self.pitch_inputs = Linear(features, width)
        self.voices = nn.Embedding(voices, width)
        nn.init.normal_(self.voices.weight, std=0.3)
        self.pitch_blocks = nn.ModuleList([Block(width, inner, 5, dilation) for dilation in (1, 2, 4, 8, 1)])
        self.norm_weight = nn.Parameter(torch.ones(width))
        self.norm_bias = nn.Parameter(torch.zeros(width))
        self.pitch = Linear(width, 2 * PATCH, scale=0.3)
        self.outputs = Linear(features + 2 * PATCH, CONDITION)

    def spread(self, hidden, frame_to_token, position, mask):
        """Features of patches f32 [B, T/2, 2 (H + 3)] and their mask f32 [B, T/2, 1]."""
        index = frame_to_token.unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
        frames = torch.cat([torch.gather(hidden, 1, index), position], -1) * mask.unsqueeze(-1)
        patches = frames.reshape(frames.shape[0], -1, PATCH * (HIDDEN + 3))
        return patches, mask.reshape(mask.shape[0], -1, PATCH)[:, :, :1]

    def predict(self, patches, voice, patch_mask):
        """-> normalised log F0 f32 [B,T], voicing logit f32 [B,T]."""
        x = self.pitch_inputs(patches).float() + self.voices(voice).unsqueeze(1)
        for block in self.pitch_blocks:
            x = block(x, patch_mask)
        x = F.layer_norm(x, (self.width,), self.norm_weight, self.norm_bias)
        y = self.pitch(x).float()
        batch = y.shape[0]
        return y[:, :, :PATCH].reshape(batch, -1), y[:, :, PATCH:].reshape(batch, -1)

    def combine(self, patches, pitch, voicing, patch_mask):
        """Condition f32 [B, T/2, C] from patches, normalised log F0 [B,T] and voicing 0..1 [B,T]."""
        batch = patches.shape[0]
        extra = torch.cat([pitch.reshape(batch, -1, PATCH), voicing.reshape(batch, -1, PATCH) * 2.0 - 1.0], -1)
        return self.outputs(torch.cat([patches, extra], -1)).float() * patch_mask

    def forward(self, hidden, frame_to_token, position, voice, mask):
        """hidden f32 [B,N,H], frame_to_token i64 [B,T] (T even), position f32 [B,T,3], voice i64 [B], mask f32 [B,T]
        -> condition f32 [B,T/2,C], f0 f32 [B,T] in Hz (everywhere positive), voicing f32 [B,T] (0..1)."""
        patches, patch_mask = self.spread(hidden, frame_to_token, position, mask)
        pitch, logit = self.predict(patches, voice, patch_mask)
        pitch = torch.clamp(pitch, -2.2, 2.2)  # 53..481 Hz
        voicing = torch.sigmoid(logit)
        condition = self.combine(patches, pitch, voicing, patch_mask)
        return condition, torch.exp(pitch * F0_SCALE + F0_MEAN), voicing * mask


class Decoder(nn.Module):
    """Velocity of the flow. Dense convolutions over patches (46.9 per second), each block told the time and voice."""

    def __init__(self, voices=len(VOICES), width=256, inner=512, context=128):
        super().__init__()
        self.width = width
        self.frequencies = 32
        self.time_in = Linear(2 * self.frequencies, context)
        self.time_out = Linear(context, context)
        self.voices = nn.Embedding(voices, context)
        nn.init.normal_(self.voices.weight, std=0.3)
        self.inputs = Linear(PATCH * N_MELS, width)
        self.blocks = nn.ModuleList([Block(width, inner, 5, dilation, context) for dilation in (1, 2, 1, 4, 1, 2, 1, 4)])
        self.norm_weight = nn.Parameter(torch.ones(width))
        self.norm_bias = nn.Parameter(torch.zeros(width))
        self.outputs = Linear(width, PATCH * N_MELS, scale=0.1)
        assert width == CONDITION
        self.register_buffer("bands", torch.exp(torch.linspace(0.0, math.log(200.0), self.frequencies)), persistent=False)

    def adaptations(self, vector):
        """(scale, shift, gate) of each block, f32 [B, 1, width], from a vector [B, context]."""
        if not layers.EXPORT:
            return [block.adaptation(vector) for block in self.blocks]
        # A single product for all blocks has a row for each piece, so that reading the matrix is its only
        # cost.
        weight = torch.cat([block.adapt.weight for block in self.blocks]).t()
        bias = torch.cat([block.adapt.bias for block in self.blocks])
        parts = (torch.matmul(vector, weight) + bias).unsqueeze(1).split([self.width] * (3 * len(self.blocks)), -1)
        return [parts[i:i + 3] for i in range(0, len(parts), 3)]

    def velocity(self, x, condition, t, voice, mask):
        """x f32 [B,T/2,160], condition f32 [B,T/2,C], t f32 [B] (0 = noise, 1 = mel), voice i64 [B], mask f32 [B,T/2,1]
        -> dx/dt f32 [B,T/2,160]."""
        angle = t.unsqueeze(-1) * self.bands * math.pi
        vector = F.gelu(self.time_in(torch.cat([torch.sin(angle), torch.cos(angle)], -1)))
        vector = F.gelu(self.time_out(vector).float() + self.voices(voice))
        y = self.inputs(x).float() + condition
        for block, adaptation in zip(self.blocks, self.adaptations(vector)):
            y = block(y, mask, adaptation)
        y = F.layer_norm(y, (self.width,), self.norm_weight, self.norm_bias)
        return self.outputs(y).float() * mask

    def forward(self, x, condition, t, dt, voice, mask):
        """One Euler step: x + dt * velocity(x, t); dt f32 [B]."""
        return x + dt.reshape(-1, 1, 1) * self.velocity(x, condition, t, voice, mask)


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.condition = Condition()
        self.decoder = Decoder()

    def losses(self, batch, t, noise, predicted_share=0.5):
        """Training losses of a batch of data.collate. t f32 [B], noise f32 [B,T/2,160].

        Returns a dict of scalars: flow (MSE of velocity), duration (smooth L1 of log(1 + frames)), pitch (MSE of
        normalised log F0 on voiced frames, plus a tenth of it elsewhere), voicing (binary cross-entropy)."""
        mask, tokens = batch["mask"], batch["tokens"]
        hidden, log_duration = self.encoder(tokens, batch["voice"], batch["log_speed"])
        token_mask = (tokens > 0).float()
        duration = F.smooth_l1_loss(log_duration, torch.log1p(batch["durations"]), reduction="none", beta=0.2)
        duration = (duration * token_mask).sum() / token_mask.sum()

        patches, patch_mask = self.condition.spread(hidden.float(), batch["frame_to_token"], batch["position"], mask)
        pitch, logit = self.condition.predict(patches, batch["voice"], patch_mask)
        true_pitch, true_voicing = batch["f0"][:, :, 0], batch["f0"][:, :, 1]
        weight = mask * (0.1 + 0.9 * true_voicing)
        pitch_loss = ((pitch - true_pitch).square() * weight).sum() / weight.sum()
        voicing_loss = F.binary_cross_entropy_with_logits(logit, true_voicing, reduction="none")
        voicing_loss = (voicing_loss * mask).sum() / mask.sum()

        # The flow sees the true F0 in some rows and the predicted one in the others, which is the one it gets
        # in use.
        rows = (torch.rand(mask.shape[0], 1, device=mask.device) < predicted_share).float()
        shown_pitch = rows * pitch.detach() + (1.0 - rows) * true_pitch
        shown_voicing = rows * torch.sigmoid(logit.detach()) + (1.0 - rows) * true_voicing
        condition = self.condition.combine(patches, shown_pitch, shown_voicing, patch_mask)
        target = batch["mel"].reshape(mask.shape[0], -1, PATCH * N_MELS)
        time = t.reshape(-1, 1, 1)
        x = (1.0 - time) * noise + time * target
        velocity = self.decoder.velocity(x, condition, t, batch["voice"], patch_mask)
        flow = ((velocity - (target - noise)).square() * patch_mask).sum() / (patch_mask.sum() * PATCH * N_MELS)
        return {"flow": flow, "duration": duration, "pitch": pitch_loss, "voicing": voicing_loss}


LOSS_WEIGHTS = {"flow": 1.0, "duration": 0.5, "pitch": 0.5, "voicing": 0.2}


def sway(steps, strength=-1.0):
    """Times 0..1 [steps + 1] of the solver: t' = t + s (cos(pi t / 2) - 1 + t); s = -1 takes small steps first."""
    t = torch.linspace(0.0, 1.0, steps + 1, dtype=torch.float64)
    return t + strength * (torch.cos(math.pi / 2.0 * t) - 1.0 + t)
