import { Database } from 'bun:sqlite';
import { Elysia, t } from 'elysia';
import { rateLimit } from 'elysia-rate-limit';
import { notFound, storeOf, unauthorized } from './store.js';

const [port, path] = process.argv.slice(2);
const store = storeOf(new Database(path));

const PetStatus = t.Union([t.Literal('available'), t.Literal('pending'), t.Literal('sold')]);
const NewPet = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: 255 }),
    categoryId: t.Integer(),
    status: t.Optional(PetStatus),
  },
  { additionalProperties: false },
);
const ListQuery = t.Object({
  limit: t.Integer({ minimum: 1, maximum: 100, default: 20 }),
  status: t.Optional(PetStatus),
  minId: t.Optional(t.Integer()),
});

new Elysia()
  .derive({ as: 'global' }, ({ headers }) => ({ caller: store.findCaller(headers.authorization) }))
  .onBeforeHandle({ as: 'global' }, ({ caller, status }) => {
    if (caller === undefined) return status(401, unauthorized);
  })
  .use(
    rateLimit({
      duration: 60_000,
      max: (key) => store.findCaller(`Bearer ${key}`).perMinute,
      generator: (_request, _server, { caller }) => caller?.key ?? '',
      skip: (_request, key) => key === '',
    }),
  )
  .get('/v1/pets', ({ query }) => store.list(query.limit, query.status, query.minId), { query: ListQuery })
  .post('/v1/pets', ({ body, status }) => status(201, store.add(body)), { body: NewPet })
  .get('/v1/pets/:petId', ({ params, status }) => store.find(params.petId) ?? status(404, notFound), {
    params: t.Object({ petId: t.Integer() }),
  })
  .listen({ hostname: '127.0.0.1', port: Number(port) });
