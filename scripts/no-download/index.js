"use strict";

/**
 * The first thing onnxruntime-node's install script calls. The real package would set up a proxy for the download of
 * CUDA libraries (half a gigabyte) that follows; here the script ends instead. The service computes on the CPU.
 *
 * package.json names this folder under the package's name, so npm gives it to onnxruntime-node. npm 11 does not run the
 * script at all (`allowScripts`); npm 10 knows no such list, and both warn about a setting of .npmrc that they do not know.
 * An explicit wish is granted: `ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js`.
 */
exports.bootstrap = () => {
  const { ONNXRUNTIME_NODE_INSTALL: wish, npm_config_onnxruntime_node_install: option } = process.env;
  if (!wish && !option) process.exit(0);
};
