"use strict";

/**
 * Replaces global-agent, the first module that onnxruntime-node's install script loads. The real one would
 * set up a proxy for the following download of CUDA libraries (half a gigabyte); this one ends the script,
 * because the service computes on the CPU.
 *
 * package.json lists this folder under the name of the package, so npm installs it for onnxruntime-node. npm
 * 11 does not run the script (`allowScripts`); npm 10 does not know that list, and both warn about unknown
 * settings of .npmrc. An explicit request is honoured:
 * `ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js`.
 */
exports.bootstrap = () => {
  const { ONNXRUNTIME_NODE_INSTALL: wish, npm_config_onnxruntime_node_install: option } = process.env;
  if (!wish && !option) process.exit(0);
};
