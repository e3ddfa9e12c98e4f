/** Defaults that the client's command line needs too; this file needs no package. */
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 8080;
export const DEFAULT_DATA_DIR = "./data";
