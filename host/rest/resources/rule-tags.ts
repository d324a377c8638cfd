import { defineRoutes } from '../route/route.js';

export const ruleTags = defineRoutes(
  {
    method: 'GET',
    path: '/rules/tags/match',
    doc: 'Rules that have all of the tags',
    handle: (request, { ruleTags }) => ruleTags.match(request.json()),
  },
  {
    method: 'POST',
    path: '/rules/bulkstart',
    doc: 'Starts all rules that have the tags',
    handle: (request, { ruleTags }) => ruleTags.start(request.json()),
  },
  {
    method: 'POST',
    path: '/rules/bulkstop',
    doc: 'Stops all rules that have the tags',
    handle: (request, { ruleTags }) => ruleTags.stop(request.json()),
  },
  {
    method: 'PUT',
    path: '/rules/:id/tags',
    doc: 'Replaces the tags of a rule',
    handle: (request, { ruleTags }) => ruleTags.set(request.id(), request.json()),
  },
  {
    method: 'PATCH',
    path: '/rules/:id/tags',
    doc: 'Adds tags to a rule',
    handle: (request, { ruleTags }) => ruleTags.add(request.id(), request.json()),
  },
  {
    method: 'DELETE',
    path: '/rules/:id/tags',
    doc: 'Removes tags from a rule',
    handle: (request, { ruleTags }) => ruleTags.remove(request.id(), request.json()),
  },
);
