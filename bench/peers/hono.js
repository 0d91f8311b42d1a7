import { Database } from 'bun:sqlite';
import { zValidator } from '@hono/zod-validator';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { z } from 'zod';
import { notFound, storeOf, unauthorized } from './store.js';

const [port, path] = process.argv.slice(2);
const store = storeOf(new Database(path));
const app = new Hono();

const PetStatus = z.enum(['available', 'pending', 'sold']);
const NewPet = z.strictObject({
  name: z.string().min(1).max(255),
  categoryId: z.int(),
  status: PetStatus.optional(),
});
const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  status: PetStatus.optional(),
  minId: z.coerce.number().int().optional(),
});
const PetParams = z.object({ petId: z.coerce.number().int() });

app.use(async (c, next) => {
  const caller = store.findCaller(c.req.header('authorization'));
  if (caller === undefined) return c.json(unauthorized, 401);
  c.set('caller', caller);
  await next();
});

app.use(
  rateLimiter({
    windowMs: 60_000,
    limit: (c) => c.get('caller').perMinute,
    keyGenerator: (c) => c.get('caller').key,
    standardHeaders: 'draft-7',
  }),
);

app.get('/v1/pets', zValidator('query', ListQuery), (c) => {
  const { limit, status, minId } = c.req.valid('query');
  return c.json(store.list(limit, status, minId));
});

app.post('/v1/pets', zValidator('json', NewPet), (c) => c.json(store.add(c.req.valid('json')), 201));

app.get('/v1/pets/:petId', zValidator('param', PetParams), (c) => {
  const pet = store.find(c.req.valid('param').petId);
  return pet === undefined ? c.json(notFound, 404) : c.json(pet);
});

export default { hostname: '127.0.0.1', port: Number(port), fetch: app.fetch };
