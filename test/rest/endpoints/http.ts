/** Requests as they are written: questions with bodies, and paths that no client library would send. */
import { Agent, request } from 'node:http';
import type { Answer } from '../../support/harness.js';

const timeoutMs = 10_000;
const agent = new Agent({ keepAlive: true });

/** A file and texts that go as a multipart form. */
export class FormBody {
  constructor(
    readonly file: { field: string; name: string; content: string | Buffer } | undefined,
    readonly texts: Readonly<Record<string, string>> = {},
  ) {}
}

/** Sends a request; a text goes as it is, a form as a form, everything else as JSON. */
export async function sendRaw(base: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const { content, type } = await encoded(body);
  const { hostname, port } = new URL(base);
  const headers = content === undefined ? {} : { 'content-type': type, 'content-length': content.length };
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, headers, agent, timeout: timeoutMs }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const given = Object.entries(reply.headers).map(([name, value]): [string, string] => [name, String(value)]);
        resolve({
          status: reply.statusCode ?? 0,
          text,
          type: reply.headers['content-type'] ?? '',
          headers: new Headers(given),
          get json() {
            return JSON.parse(text);
          },
        });
      });
    });
    asked.on('error', reject);
    asked.on('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer within ${timeoutMs} ms`)));
    asked.end(content);
  });
}

/** Connections that wait for another request keep the process alive otherwise. */
export function closeConnections(): void {
  agent.destroy();
}

async function encoded(body: unknown): Promise<{ content?: Buffer; type: string }> {
  if (body === undefined) return { type: '' };
  if (typeof body === 'string') return { content: Buffer.from(body), type: 'text/plain' };
  if (!(body instanceof FormBody)) return { content: Buffer.from(JSON.stringify(body)), type: 'application/json' };
  const form = new FormData();
  const { file, texts } = body;
  if (file !== undefined) form.append(file.field, new Blob([file.content]), file.name);
  for (const [field, value] of Object.entries(texts)) form.append(field, value);
  const response = new Response(form);
  return {
    content: Buffer.from(await response.arrayBuffer()),
    type: response.headers.get('content-type') ?? '',
  };
}
