/** Images into the files of a folder. */
import { field } from '../../base/fields/field.js';
import { plainSink } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'image',
  doc: 'Writes images to a folder, each column of bytes to a file of its own, and deletes the oldest.',
  chinese: async () => (await import('./chinese.js')).chinese,
  sink: {
    props: {
      ...plainSink,
      path: field
        .string()
        .required()
        .check((path) => (path === '' ? 'must not be empty' : undefined))
        .doc(
          'Folder of the images, made when it is missing; a relative one lies in the data folder. No two rules ' +
            'should have the same, since each deletes what is old',
        ),
      imageFormat: field.string().oneOf('jpeg', 'png').default('jpeg').doc('Format that the images have to have'),
      maxAge: field.int().min(0).default(72).doc('Hours after which an image is deleted; 0 never'),
      maxCount: field.int().min(0).default(1000).doc('Images in the folder; the oldest are deleted. 0: no bound'),
    },
    files: ({ path }) => ({ path: { written: path, isNoFile: true } }),
    form: { takes: 'rows', framing: 'messages' },
    load: async () => {
      const { ImageSink } = await import('./sink.js');
      return (conf, context) => new ImageSink(conf, context);
    },
  },
});
