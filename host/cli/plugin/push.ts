/** `haumea plugin push`: brings a plugin to a server. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { zipOf } from '../../base/files/zip.js';
import { filesFolder } from '../../services/wasm/module.js';
import type { Call } from '../client/command.js';
import { RequestError } from '../client/rest-client.js';
import { filesOf, moduleOf, type Project, projectOf, readOf } from './project.js';

/** What of a folder is no part of the plugin: hidden files, what Python keeps, the project itself. */
const unsent = /(^|\/)(\.|__pycache__\/)|^plugin\.json$/;
/** The server waits for the plugin, which may be slow to start. */
const installMs = 120_000;

export async function pushPlugin(call: Call): Promise<number> {
  const project = projectOf(call);
  const { name, module, script, isAgg, limits, wasi, isolate } = project;
  if (project.portable !== undefined) return pushPortable(call, project);
  if (module === undefined) {
    const body = { id: name, script: readOf(project, script ?? '').toString(), isAgg };
    call.print(await call.client.send('PUT', `/udf/javascript/${name}`, body));
    return 0;
  }
  const bytes = moduleOf(project, module);
  const files = filesOf(project).map(({ path, bytes }) => ({ name: filesFolder + path, bytes }));
  const given = files.length === 0 ? bytes : zipOf([{ name: `${name}.wasm`, bytes }, ...files]);
  const bytecode = Buffer.from(given).toString('base64');
  const isolated = isolate === undefined ? {} : { isolate };
  const body = { name, bytecode, ...(limits && { limits }), ...(wasi && { wasi }), ...isolated };
  const isThere = await isKnown(call, 'wasm', name);
  call.print(
    await call.client.send(isThere ? 'PUT' : 'POST', isThere ? `/plugins/wasm/${name}` : '/plugins/wasm', body),
  );
  return 0;
}

/** Uploads an archive of the folder, from which the server installs the plugin. */
async function pushPortable(call: Call, { name, folder }: Project): Promise<number> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !unsent.test(path))
    .sort();
  const files = paths.map((path) => ({ name: path, bytes: readFileSync(join(folder, path)) }));
  const form = new FormData();
  form.append('uploadFile', new Blob([new Uint8Array(zipOf(files))]), `${name}.zip`);
  const uploaded = (await call.client.send('POST', '/config/uploads', form)).text.trim();
  try {
    const body = { name, file: pathToFileURL(uploaded).href };
    const isThere = await isKnown(call, 'portables', name);
    const path = isThere ? `/plugins/portables/${name}` : '/plugins/portables';
    call.print(await call.client.send(isThere ? 'PUT' : 'POST', path, body, installMs));
  } finally {
    await call.client.send('DELETE', `/config/uploads/${encodeURIComponent(basename(uploaded))}`);
  }
  return 0;
}

async function isKnown(call: Call, kind: 'wasm' | 'portables', name: string): Promise<boolean> {
  try {
    await call.client.send('GET', `/plugins/${kind}/${name}`);
    return true;
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return false;
    throw error;
  }
}
