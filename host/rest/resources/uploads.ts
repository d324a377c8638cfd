/** Routes of uploads. */
import type { UploadService } from '../../services/files/uploads.js';
import { done, gives, made, multipart, names, object, ref, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const uploads = defineResource<{ readonly uploads: () => Promise<UploadService> }>({
  routes: [
    {
      method: 'POST',
      path: '/config/uploads',
      doc: 'Stores a file: from a form, a text or a URL',
      status: 201,
      contract: made([ref('Upload'), multipart]),
      handle: async (request, { uploads }) => {
        const service = await uploads();
        return request.isForm ? service.fromForm(request.form()) : service.fromObject(request.object());
      },
    },
    {
      method: 'GET',
      path: '/config/uploads',
      doc: 'Paths of the uploaded files',
      contract: gives(names),
      handle: async (_request, { uploads }) => (await uploads()).list(),
    },
    {
      method: 'DELETE',
      path: '/config/uploads/:fileName',
      doc: 'Deletes an uploaded file',
      contract: done,
      handle: async (request, { uploads }) => (await uploads()).delete(request.params.fileName ?? ''),
    },
  ],
  schemas: {
    Upload: object({ 'name?': string, 'content?': string, 'file?': string }, true),
  },
});
