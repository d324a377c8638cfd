/** What clients send for a schema: a text, the URI of a file or archive, or an upload. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { textFromUtf8 } from '../../base/text/utf8.js';
import { checkSchema } from '../../codecs/index.js';
import { checkId } from '../../meta/ids.js';
import { textOf } from '../body/fields.js';
import type { Form, FormFile } from '../body/form.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import { schemaErrors } from '../errors/schemas.js';
import { withArchive } from '../files/archives.js';
import { isZip } from '../files/resource-files.js';
import { checkType } from './schema-types.js';

/** Request of a client for a schema. */
export interface SchemaRequest {
  readonly type: string;
  readonly name: string;
  readonly content: string;
  readonly file: string;
  readonly soFile: string;
  readonly plugin: string;
  readonly version: string;
}

export function requestOf(type: string, body: Record<string, unknown>): SchemaRequest {
  checkType(type);
  const name = textOf(body, 'name');
  if (name === '') throw bodyErrors.missing('name');
  checkId(name);
  const request = {
    type,
    name,
    content: textOf(body, 'content'),
    file: textOf(body, 'file'),
    soFile: textOf(body, 'soFile'),
    plugin: textOf(body, 'plugin'),
    version: textOf(body, 'version'),
  };
  if (request.content !== '' && request.file !== '') {
    throw bodyErrors.bothOf('content', 'file');
  }
  if (type === 'custom') {
    if (request.plugin === '' && request.soFile === '') {
      throw schemaErrors.noPlugin();
    }
  } else if (request.plugin !== '') {
    throw schemaErrors.pluginOfOther(type);
  } else if (request.content === '' && request.file === '') {
    throw bodyErrors.missingOf('content', 'file');
  }
  return request;
}

/** The file of an upload, which may come as a text field. */
export function uploadedFile(form: Form): FormFile {
  const count = form.count('file');
  if (count > 1) throw schemaErrors.severalFiles(count);
  const text = form.text('file');
  const file = form.file('file') ?? (text === undefined ? undefined : { name: '', bytes: Buffer.from(text) });
  if (file === undefined) throw schemaErrors.noFile();
  return file;
}

/** Unpacks the main file and the folder of the same name beside it; returns the text of the main file. */
async function unpackSchema(source: Buffer, path: string, name: string, main: string): Promise<string> {
  return withArchive(source, async (archive) => {
    if (!archive.entries.some((entry) => entry.name === main && !entry.isFolder)) {
      throw installErrors.noFile(main);
    }
    const content = textFromUtf8(await archive.read(main), main);
    await archive.unpack(path, (entry) => entry.name === main || entry.name.split('/')[0] === name);
    return content;
  });
}

async function checkContent(type: string, name: string, content: string): Promise<void> {
  try {
    await checkSchema(type, content);
  } catch (error) {
    throw schemaErrors.invalid(name, reasonOf(error), { cause: error });
  }
}

/** Writes the files of a schema into the new folder; returns the text of the main one, or throws why it is none. */
export async function layDown(
  { type, name, file }: SchemaRequest,
  source: FormFile,
  path: string,
  main: string,
): Promise<string> {
  const { bytes } = source;
  let content: string;
  if (isZip(bytes) || /\.zip$/i.test(source.name)) content = await unpackSchema(bytes, path, name, main);
  else {
    content = textFromUtf8(bytes, file || main);
    await mkdir(path);
    await writeFile(join(path, main), content);
  }
  await checkContent(type, name, content);
  return content;
}
