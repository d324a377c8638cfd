/** The writer that the properties of a sink ask for, and how chunks of messages get into it. */
import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { MessageCutter } from '../../messages/frames.js';
import type { SinkChunk, SinkContext } from '../../running.js';
import { fileErrors } from '../errors.js';
import { isRolled, type RollProps, rollingCountOf } from '../rolling.js';
import { TextForm } from './form.js';
import { headedLines } from './headed.js';
import { HttpHook } from './hook.js';
import type { ParquetSchema } from './parquet-form.js';
import { type RolledOwner, RolledWriter, type RollOptions } from './rolled-writer.js';
import { FileWriter } from './writer.js';
import type { AnyWriter, Writers } from './writers.js';

export interface FileSinkConf extends RollProps {
  path: string;
  fileType: 'lines' | 'json' | 'csv' | 'parquet';
  checkInterval: number;
  maxOpenFiles: number;
  compression: '' | 'gzip' | 'zstd';
  compressionProps: { readonly level: number | undefined };
  rollingHook: string;
  rollingHookProps: {
    readonly url: string | undefined;
    readonly method: string;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly timeout: number;
  };
}

/** The hook of a sink; undefined without one. */
export function hookOf({ rollingHook, rollingHookProps }: FileSinkConf, context: SinkContext): HttpHook | undefined {
  const { url } = rollingHookProps;
  if (rollingHook === '' || url === undefined) return undefined;
  return new HttpHook({ ...rollingHookProps, url }, context.ruleId, (reason) => {
    context.log.error(reason);
    context.failed(0, 0, reason);
  });
}

/** Makes a writer; lines without any more are written in larger pieces. */
export function makeWriter(
  path: string,
  conf: FileSinkConf,
  context: SinkContext,
  { writers, paths, hook, blockBytes }: Surroundings,
): AnyWriter {
  if (!isRolled(conf)) return new FileWriter(path, { ...conf, ...(blockBytes && { blockBytes }) }, paths);
  const { compressionProps, encryption, rollingSize, rollingInterval, checkInterval, fileType, compression } = conf;
  const options = {
    fileType,
    compression,
    level: compressionProps.level,
    aesKey: encryption === '' ? undefined : context.aesKey,
    rollingSize,
    rollingInterval,
    checkInterval,
    rollingCount: rollingCountOf(conf),
    rollingNamePattern: conf.rollingNamePattern,
  };
  return new RolledWriter(path, options, {
    paths,
    form: formsOf(options),
    finished: writers.finished,
    warn: (text) => context.log.warn(text),
    complete: (file) => hook?.complete(file) ?? Promise.resolve(),
  });
}

/** Makes the forms of files one after the other; what few sinks need is loaded with the first. */
function formsOf(options: RollOptions): RolledOwner['form'] {
  if (options.fileType !== 'parquet') return async (begun) => new TextForm(options, begun);
  let schema: ParquetSchema | undefined;
  return async () => {
    const { ParquetForm, ParquetSchema: Schema } = await parquet();
    schema ??= new Schema();
    return new ParquetForm(schema, options.compression);
  };
}

async function parquet(): Promise<typeof import('./parquet-form.js')> {
  try {
    return await import('./parquet-form.js');
  } catch (error) {
    throw fileErrors.sinkRefused(reasonOf(error), { cause: error });
  }
}

interface Surroundings {
  readonly writers: Writers;
  readonly paths: AllowedPaths;
  readonly hook: HttpHook | undefined;
  readonly blockBytes?: number;
}

/** Gives the chunk to the writer; returns the header of its last lines. */
export function writeChunk(
  writer: RolledWriter,
  chunk: SinkChunk,
  context: SinkContext,
  cutter: MessageCutter,
  { fileType, header: latest }: { readonly fileType: string; readonly header: Buffer | undefined },
): Buffer | undefined {
  if (context.hasHeaders === true) {
    let header = latest;
    for (const part of headedLines(chunk, header, true)) {
      writer.write(part.lines, part.messages, context, part);
      ({ header } = part);
    }
    return header;
  }
  const isText = fileType === 'lines' || fileType === 'csv';
  if (chunk.ends === null && isText) {
    writer.write(chunk.bytes, chunk.messages, context);
    return undefined;
  }
  cutter.cut(chunk, (message, place) => {
    const bytes = message.length;
    if (isText || !chunk.errors.has(place)) writer.write(message, 1, context, { isOpen: isText, bytes });
    else if (fileType === 'json') {
      // The text of an error is no JSON.
      writer.write(Buffer.from(JSON.stringify(Buffer.from(message).toString())), 1, context, { bytes });
    } else context.failed(bytes, 1, Buffer.from(message).toString());
  });
  return undefined;
}
