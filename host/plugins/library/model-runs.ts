/** Models of ONNX among the uploaded files: they stay loaded while their file is the same. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { type Runtime, type Session, type Tensor, tensorOf, valuesOf } from './tensors.js';

const maxModelBytes = 512 << 20;
/** Models that stay loaded. */
const maxModels = 8;

interface Model {
  readonly stamp: string;
  readonly session: Session;
}

export class ModelRuns {
  readonly #models = new Map<string, Model>();

  constructor(
    private readonly runtime: Runtime,
    private readonly folder: string,
  ) {
    runtime.env.wasm.numThreads = 1;
    runtime.env.logLevel = 'error';
  }

  /** Outputs of a model, a list of numbers for each. Throws the reason why there are none. */
  async run([name, ...inputs]: readonly Value[]): Promise<Value> {
    if (typeof name !== 'string') throw new Error('the first argument must be the name of a model');
    const { session } = await this.#model(name);
    const { inputNames, inputMetadata, outputNames } = session;
    if (inputs.length !== inputNames.length) {
      throw new Error(`model ${name} requires ${inputNames.length} tensors but got ${inputs.length}`);
    }
    const feeds: Record<string, Tensor> = {};
    for (const [i, input] of inputs.entries()) {
      const inputName = inputNames[i] as string;
      feeds[inputName] = tensorOf(this.runtime, inputMetadata[i], input, i + 1);
    }
    const outputs = await session.run(feeds);
    return outputNames.map((outputName) => valuesOf(outputs[outputName]));
  }

  async #model(name: string): Promise<Model> {
    if (!/^[\w.-]+$/.test(name) || name.startsWith('.')) throw new Error(`${name} is no name of a model`);
    const path = join(this.folder, `${name}.onnx`);
    const file = await stat(path).catch(() => undefined);
    if (file === undefined || !file.isFile()) throw new Error(`model ${name}.onnx is not among the uploaded files`);
    if (file.size > maxModelBytes) throw new Error(`model ${name}.onnx has more than ${maxModelBytes} bytes`);
    const stamp = `${file.mtimeMs} ${file.size}`;
    const known = this.#models.get(name);
    if (known?.stamp === stamp) {
      // The model that was used last stands at the end.
      this.#models.delete(name);
      this.#models.set(name, known);
      return known;
    }
    await this.#drop(name);
    const model = { stamp, session: await this.#open(name, path) };
    this.#models.set(name, model);
    for (const other of this.#models.keys()) {
      if (this.#models.size <= maxModels) break;
      await this.#drop(other);
    }
    return model;
  }

  async #open(name: string, path: string): Promise<Session> {
    try {
      return await this.runtime.InferenceSession.create(await readFile(path), { executionProviders: ['wasm'] });
    } catch (error) {
      throw new Error(`model ${name}.onnx does not load: ${reasonOf(error)}`);
    }
  }

  async #drop(name: string): Promise<void> {
    const model = this.#models.get(name);
    this.#models.delete(name);
    await model?.session.release();
  }
}
