/** Thread that runs models of ONNX. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import type { Runtime } from './tensors.js';

export interface ToModels {
  readonly number: number;
  /** Name of the model, then a list of numbers for each of its inputs. */
  readonly args: readonly Value[];
}

export type FromModels =
  | { readonly kind: 'loaded' }
  /** The package is not there. */
  | { readonly kind: 'missing'; readonly reason: string; readonly code: string | undefined }
  | { readonly kind: 'value'; readonly number: number; readonly value: Value }
  | { readonly kind: 'failed'; readonly number: number; readonly reason: string };

const packageName = 'onnxruntime-web';

function send(message: FromModels): void {
  parentPort?.postMessage(message);
}

async function main(): Promise<void> {
  let runtime: Runtime;
  try {
    // No other package needs it, so its types are not there either.
    runtime = (await import(packageName)) as Runtime;
  } catch (error) {
    send({ kind: 'missing', reason: reasonOf(error), code: (error as NodeJS.ErrnoException).code });
    return;
  }
  const { ModelRuns } = await import('./model-runs.js');
  const models = new ModelRuns(runtime, (workerData as { folder: string }).folder);
  let last: Promise<void> = Promise.resolve();
  parentPort?.on('message', ({ number, args }: ToModels) => {
    last = last.then(async () => {
      try {
        send({ kind: 'value', number, value: await models.run(args) });
      } catch (error) {
        send({ kind: 'failed', number, reason: reasonOf(error) });
      }
    });
  });
  send({ kind: 'loaded' });
}

void main();
