/** Multipart forms: the files and texts that browsers and `curl -F` send. */
import { reasonOf } from '../../base/errors.js';
import type { Form, FormFile } from '../../services/body/form.js';
import { requestErrors } from '../errors.js';

/** Reads a form whose body has been received; throws a `general` error when it is not well formed. */
export async function readForm(body: Buffer, contentType: string): Promise<Form> {
  let data: FormData;
  try {
    data = await new Response(body, { headers: { 'content-type': contentType } }).formData();
  } catch (error) {
    throw requestErrors.badMultipart(reasonOf(error), {
      cause: error,
    });
  }
  const files = new Map<string, FormFile>();
  const texts = new Map<string, string>();
  for (const [field, value] of data) {
    if (typeof value === 'string') {
      if (!texts.has(field)) texts.set(field, value);
    } else if (!files.has(field)) {
      // Some clients send the whole path.
      const name = value.name.replace(/^.*[\\/]/, '');
      files.set(field, { name, bytes: Buffer.from(await value.arrayBuffer()) });
    }
  }
  return {
    file: (field) => files.get(field),
    text: (field) => texts.get(field),
    count: (field) => data.getAll(field).length,
  };
}
