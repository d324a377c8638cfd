/** `haumea plugin push`: brings a plugin to a server. */
import type { Call } from '../client/command.js';
import { RequestError } from '../client/rest-client.js';
import { moduleOf, projectOf, readOf } from './project.js';

export async function pushPlugin(call: Call): Promise<number> {
  const project = projectOf(call);
  const { name, module, script, isAgg, limits, wasi, isolate } = project;
  if (module === undefined) {
    const body = { id: name, script: readOf(project, script ?? '').toString(), isAgg };
    call.print(await call.client.send('PUT', `/udf/javascript/${name}`, body));
    return 0;
  }
  const bytecode = Buffer.from(moduleOf(project, module)).toString('base64');
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
