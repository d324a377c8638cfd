/**
 * Health check of a container: ends with 0 when the server answers, else with 1. Port and TLS are those of the
 * environment; where a file sets them, HAUMEA_URL says what to ask.
 */
import { request as plain } from 'node:http';
import { request as encrypted } from 'node:https';

const {
  HAUMEA_URL,
  KUIPER__BASIC__RESTPORT: port = '9081',
  KUIPER__BASIC__RESTTLS__CERTFILE: certificate,
} = process.env;
const base = HAUMEA_URL ?? `${certificate ? 'https' : 'http'}://127.0.0.1:${port}`;
const url = new URL('/ping', base);
const send = url.protocol === 'https:' ? encrypted : plain;
// The certificate is made for the name that clients know, not for this address of the machine itself.
const question = send(url, { rejectUnauthorized: false, timeout: 4000 }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
});
question.on('timeout', () => question.destroy(new Error('no answer within 4 s')));
question.on('error', ({ message }) => {
  console.error(`${url}: ${message}`);
  process.exit(1);
});
question.end();
