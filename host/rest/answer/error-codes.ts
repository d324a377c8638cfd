/** Table of the answers to each kind of error: the number of the error envelope, and the HTTP status. */
import type { ErrorKind } from '../../base/errors.js';

export const errorCodes: Readonly<Record<ErrorKind, { readonly code: number; readonly status: number }>> = {
  general: { code: 1000, status: 400 },
  state: { code: 1001, status: 400 },
  forbidden: { code: 1000, status: 403 },
  notFound: { code: 1002, status: 404 },
  connection: { code: 1003, status: 400 },
  mediaType: { code: 1000, status: 415 },
  codec: { code: 1004, status: 400 },
  parse: { code: 2001, status: 400 },
  plan: { code: 2101, status: 400 },
  unknownConnector: { code: 2201, status: 400 },
  sink: { code: 2201, status: 400 },
  stream: { code: 3000, status: 400 },
  rule: { code: 4000, status: 400 },
  config: { code: 5000, status: 400 },
  storage: { code: 1000, status: 500 },
  overload: { code: 1000, status: 503 },
  stopping: { code: 1000, status: 503 },
};
