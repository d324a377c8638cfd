/** Installs external services of a test, from archives that are made here. */
import * as assert from 'uvu/assert';
import type { Answer, TestServer } from '../harness.js';
import { fileUri } from '../rest/given-files.js';
import { writeZip } from '../rest/zip-writer.js';

export interface ServiceFiles {
  readonly interfaces: Readonly<Record<string, object>>;
  /** Texts of `.proto` files by their paths in `schemas/`. */
  readonly schemas?: Readonly<Record<string, string>>;
}

/** URI of an archive that describes a service. */
export function serviceArchive(name: string, { interfaces, schemas = {} }: ServiceFiles): string {
  const files = Object.entries(schemas).map(([path, content]) => ({ name: `schemas/${path}`, content }));
  const description = { name: `${name}.json`, content: JSON.stringify({ about: {}, interfaces }) };
  return fileUri(`${name}.zip`, writeZip([description, ...files]));
}

/** Installs a service, or puts it in the place of the one of its name. */
export async function installService(server: TestServer, name: string, files: ServiceFiles): Promise<Answer> {
  const file = serviceArchive(name, files);
  const isThere = (await server.request('GET', `/services/${name}`)).status === 200;
  const made = isThere
    ? await server.request('PUT', `/services/${name}`, { name, file })
    : await server.request('POST', '/services', { name, file });
  assert.ok(made.status < 300, made.text);
  return made;
}
