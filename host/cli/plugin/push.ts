/** `haumea plugin push`: brings a plugin to a server. */
import { zipOf } from '../../base/files/zip.js';
import { filesFolder } from '../../services/wasm/module.js';
import type { Call } from '../client/command.js';
import { RequestError } from '../client/rest-client.js';
import { filesOf, moduleOf, projectOf, readOf } from './project.js';

export async function pushPlugin(call: Call): Promise<number> {
  const project = projectOf(call);
  const { name, module, script, isAgg, limits, wasi, isolate } = project;
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
  const isThere = await isKnown(call, name);
  call.print(
    await call.client.send(isThere ? 'PUT' : 'POST', isThere ? `/plugins/wasm/${name}` : '/plugins/wasm', body),
  );
  return 0;
}

async function isKnown(call: Call, name: string): Promise<boolean> {
  try {
    await call.client.send('GET', `/plugins/wasm/${name}`);
    return true;
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return false;
    throw error;
  }
}
