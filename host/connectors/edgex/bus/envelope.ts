/** Envelopes of messages on the bus of EdgeX: a payload with what identifies it. */
import { readExactJson } from '../../../base/text/exact-json.js';
import { edgexErrors } from './errors.js';

/** The version of the interface in envelopes. */
export const apiVersion = 'v3';

const json = 'application/json';

export interface Received {
  readonly correlationId: string;
  /** The payload, read. */
  readonly payload: unknown;
}

export interface Envelope {
  readonly contentType: string;
  /** JSON of the payload. */
  readonly payload: string;
}

/** The envelope as JSON. */
export function envelopeText({ contentType, payload }: Envelope): string {
  const head = JSON.stringify({
    apiVersion,
    receivedTopic: '',
    correlationID: '',
    requestID: '',
    errorCode: 0,
    contentType,
  });
  return `${head.slice(0, -1)},"payload":${payload}}`;
}

/** Reads an envelope; throws why it is none. */
export function readEnvelope(message: Buffer): Received {
  const envelope = jsonOf(message.toString());
  if (typeof envelope !== 'object' || envelope === null) throw edgexErrors.envelope('it is no object');
  const { payload, correlationID = '', contentType = json } = envelope as Record<string, unknown>;
  if (payload === undefined || payload === null) throw edgexErrors.envelope('it has no payload');
  return { correlationId: String(correlationID), payload: payloadOf(payload, String(contentType || json)) };
}

/** Reads a payload that has come by itself; `contentType` is empty where nobody has said it. */
export function readPayload(payload: Buffer, contentType: string): unknown {
  if (contentType !== '' && contentType !== json) throw edgexErrors.contentType(contentType);
  return jsonOf(payload.toString());
}

/** Payloads are JSON as it is, or in base64. */
function payloadOf(payload: unknown, contentType: string): unknown {
  if (contentType !== json) throw edgexErrors.contentType(contentType);
  if (typeof payload !== 'string') return payload;
  return jsonOf(Buffer.from(payload, 'base64').toString());
}

function jsonOf(text: string): unknown {
  try {
    return readExactJson(text);
  } catch (error) {
    throw edgexErrors.envelope(`it is no JSON: ${(error as Error).message.slice(0, 100)}`);
  }
}
