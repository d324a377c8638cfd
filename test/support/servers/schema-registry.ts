/** A schema registry of the kind of Confluent, in the test's own process: it can be slow, or fail. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export class SchemaRegistryServer {
  readonly schemas = new Map<number, object>();
  readonly subjects = new Map<string, { id: number; schema: string }[]>();
  readonly asked: string[] = [];
  /** Requests that wait for an answer: without one it answers at once. */
  held: (() => void)[] | undefined;
  status = 200;
  readonly #server = createServer((request, response) => {
    const answer = () => void this.#answer(request, response);
    if (this.held === undefined) answer();
    else this.held.push(answer);
  });

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += part;
    const { method, url = '', headers } = request;
    this.asked.push(`${method} ${url} ${headers.authorization ?? ''}`.trim());
    const send = (status: number, value: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (this.status !== 200) return send(this.status, { message: 'no' });
    const [, id] = /^\/schemas\/ids\/(\d+)$/.exec(url) ?? [];
    if (id !== undefined) {
      const schema = this.schemas.get(Number(id));
      return schema === undefined ? send(404, { error_code: 40403 }) : send(200, schema);
    }
    const [, subject = '', rest = ''] = /^\/subjects\/([^/]+)(.*)$/.exec(url) ?? [];
    const versions = this.subjects.get(subject) ?? [];
    const [, version] = /^\/versions\/(\d+)$/.exec(rest) ?? [];
    if (version !== undefined) return send(200, versions[Number(version) - 1] ?? {});
    const { schema } = JSON.parse(body);
    const known = versions.find((one) => one.schema === schema);
    if (known !== undefined) return send(200, { id: known.id });
    if (rest !== '/versions') return send(404, { error_code: 40401 });
    const added = { id: 100 + versions.length, schema };
    this.subjects.set(subject, [...versions, added]);
    this.schemas.set(added.id, { schema });
    return send(200, { id: added.id });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
