/** Settings of the servers that listen: what all have, and those of the data server. */
import { field } from '../fields/field.js';

export const tls = () =>
  field.object({
    certfile: field.string().doc('Certificate file (PEM)'),
    keyfile: field.string().doc('Private key file (PEM)'),
  });

export const dataServer = {
  httpServerIp: field.string().default('0.0.0.0').doc('Address of the data server (HTTP push, event streams)'),
  httpServerPort: field
    .int()
    .min(0)
    .max(65_535)
    .default(10_081)
    .doc('Port of the data server, which opens when it is first needed'),
  httpServerTls: tls().doc('TLS of the data server'),
  openPush: field.bool().default(false).doc('Take pushed data without a token although basic.authentication is on'),
  maxEndpointClients: field
    .int()
    .min(1)
    .max(500)
    .default(250)
    .doc('Most clients of a websocket endpoint or event stream; more are refused'),
  maxEndpointBytes: field
    .int()
    .min(2 ** 25)
    .default(2 ** 26)
    .doc('Most bytes of incomplete messages of all clients of a websocket endpoint; the oldest client is disconnected'),
};
