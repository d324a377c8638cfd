/** Files and forms that tests of resources send. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Answer, temporaryFolder } from '../harness.js';
import type { ControlPlane } from './control-plane.js';

const folder = temporaryFolder();
let count = 0;

/** Writes a file that requests may name; returns its URI. */
export function fileUri(name: string, content: Buffer | string): string {
  const path = join(folder, `${++count}-${name}`);
  writeFileSync(path, content);
  return pathToFileURL(path).href;
}

/** Sends a multipart form with one file and some texts. */
export async function sendForm(
  { base }: ControlPlane,
  method: string,
  path: string,
  file: { field: string; name: string; content: string | Buffer } | undefined,
  texts: Record<string, string> = {},
): Promise<Pick<Answer, 'status' | 'text' | 'headers' | 'json'>> {
  const form = new FormData();
  if (file !== undefined) form.append(file.field, new Blob([file.content]), file.name);
  for (const [field, value] of Object.entries(texts)) form.append(field, value);
  const response = await fetch(base + path, { method, body: form, signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  return {
    status: response.status,
    text,
    headers: response.headers,
    get json() {
      return JSON.parse(text);
    },
  };
}

/** Serves one body at every path; returns the address. */
export function serveBytes(content: string | Buffer): Promise<{ url: string; close(): void }> {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      if (request.url?.includes('missing')) response.statusCode = 404;
      response.end(content);
    }).listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      resolve({ url: `http://127.0.0.1:${port}`, close: () => void server.close() });
    });
  });
}

/** A refusal to check: the request, the status, the code and what the message must say. */
export type Refusal = [method: string, path: string, body: unknown, status: number, code: number, message: RegExp];

/** Says what is wrong with the answer to a request that must be refused; undefined when nothing is. */
export async function wrongAnswer(plane: ControlPlane, refusal: Refusal): Promise<string | undefined> {
  const [method, path, body, status, code, message] = refusal;
  const answer = await plane.request(method, path, body);
  const { error, message: given } = answer.status === status ? answer.json : { error: undefined, message: answer.text };
  if (answer.status === status && error === code && message.test(given)) return undefined;
  return `${answer.status} ${answer.text}`;
}
