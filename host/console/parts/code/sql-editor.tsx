/** The editor for statements, fetched when it is first shown. */
import { fetched } from '../loaded.js';
import type { SqlEditorProps } from './editing.js';

export const SqlEditor = fetched<SqlEditorProps>(async () => (await import('./sql-view.js')).SqlView);
