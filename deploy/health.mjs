// HEALTHCHECK of the image: exits with 0 if the process answers on the operators' port.
const { OPERATOR_PORT: port } = process.env;
const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
process.exitCode = answer?.ok ? 0 : 1;
