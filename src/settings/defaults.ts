/** Where a service listens and keeps its state, unless it is told otherwise. No package is needed to know it. */
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 8080;
export const DEFAULT_DATA_DIR = "./data";
