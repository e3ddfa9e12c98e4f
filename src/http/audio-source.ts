import { ServiceError } from "../../core/domain/errors.js";
import type { FrontRequest } from "../../core/ports/front.js";
import { paced, UPLOAD_PACE } from "./read-body.js";
import type { RouteDeps } from "./router.js";
import { LONGEST_FETCH_BYTES } from "./spool.js";
import { checkRoom, FormUpload, isMultipart, type Upload } from "./transcribed-upload.js";

/** Finds the one audio source of a request. An empty body does not count as one. */
export async function uploadOf(
  request: FrontRequest,
  [url, ...others]: readonly string[],
  { urls, room }: Pick<RouteDeps, "urls" | "room">,
): Promise<Upload> {
  if (url !== undefined) {
    if (others.length > 0 || (await hasBytes(request))) {
      throw new ServiceError("INVALID_REQUEST", "supply exactly one of url, a file part and a raw body");
    }
    return {
      bytes: urls.fetch(url, request.signal),
      url,
      fileName: undefined,
      maxBytes: LONGEST_FETCH_BYTES,
    };
  }
  await checkRoom(request, room);
  if (isMultipart(request)) return FormUpload.open(request, { fields: [] });
  return { bytes: paced(request.body, UPLOAD_PACE), fileName: request.header("x-filename") };
}

/** Reads a body of unknown length up to its first byte. */
async function hasBytes(request: FrontRequest): Promise<boolean> {
  if (request.contentLength !== null) return request.contentLength > 0;
  if (request.header("transfer-encoding") === undefined) return false;
  for await (const chunk of paced(request.body, UPLOAD_PACE)) {
    if (chunk.length > 0) return true;
  }
  return false;
}
