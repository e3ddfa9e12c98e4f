/** Defaults that the client's command line also needs, without a package. */
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 8080;
export const DEFAULT_DATA_DIR = "./data";
