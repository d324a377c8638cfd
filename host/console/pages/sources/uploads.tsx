/** Files that clients have put on the server: for schemas, tables, plugins. */
import { useState } from 'preact/hooks';
import { Collection } from '../../parts/collection.js';
import { Making } from '../../parts/forms/making.js';
import { t } from '../../state/language.js';
import { ask } from '../../state/server.js';

const nameOf = (path: string) => path.split('/').at(-1) ?? path;

export function Uploads() {
  return (
    <Collection
      title={t('uploads')}
      list={async () => (await ask('GET /config/uploads')).map((path) => ({ id: nameOf(path), about: path }))}
      remove={(fileName) => ask('DELETE /config/uploads/{fileName}', { path: { fileName } })}
      create={(done) => <UploadForm done={done} />}
    />
  );
}

function UploadForm({ done }: { done: () => void }) {
  const [file, setFile] = useState<File>();
  const make = () => {
    const form = new FormData();
    if (file !== undefined) form.append('uploadFile', file);
    return ask('POST /config/uploads', { body: form });
  };
  return (
    <Making make={make} done={done}>
      <label class="field">
        {t('file')}
        <input type="file" required onChange={(event) => setFile(event.currentTarget.files?.[0])} />
      </label>
    </Making>
  );
}
