// A part of Kith's schema on Fastify and Mercurius with its JIT, over Kith's own Redis keys. The
// answers are the same JSON. Loaders batch; Redis commands of one tick are sent together.
// node mercurius.js PORT SPACE      (REDIS_URL is in the environment)

import fastify from 'fastify'
import mercurius from 'mercurius'
import { graph } from './graph.js'

const schema = `
  scalar DateTime
  enum RelationState { NONE FOLLOWING FOLLOWED_BY FRIENDS SELF }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  type Edge { cursor: String! followedAt: DateTime! node: User! }
  type Connection { totalCount: Int! edges: [Edge!]! pageInfo: PageInfo! }
  type Relation {
    to: User!
    state: RelationState!
    following: Boolean!
    followedBy: Boolean!
    followedAt: DateTime
    followedByAt: DateTime
    friendsSince: DateTime
  }
  type User {
    id: ID!
    followingCount: Int!
    followerCount: Int!
    friendCount: Int!
    following(first: Int = 20): Connection!
    followers(first: Int = 20): Connection!
    relationWith(ids: [ID!]!): [Relation!]!
    viewerRelation: Relation
  }
  type Query { user(id: ID!): User users(ids: [ID!]!): [User]! }
`

const [port, space] = process.argv.slice(2)
const { relations, pages, counts } = graph(process.env.REDIS_URL, space)
const uncached = (loader) => ({ loader, opts: { cache: false } })

const page = (kind) => uncached((asked) => pages(kind, asked.map(({ obj }) => obj.id), asked[0].params.first))

const count = (which) => uncached(async (asked) => {
  const found = await counts(asked.map(({ obj }) => obj.id))
  return found.map((totals) => totals[which])
})

const resolvers = {
  Query: {
    user: (_, { id }) => ({ id }),
    users: (_, { ids }) => ids.map((id) => ({ id }))
  },
  User: { relationWith: ({ id }, { ids }) => relations(id, ids) }
}

const loaders = {
  User: {
    following: page('following'),
    followers: page('followers'),
    followingCount: count('following'),
    followerCount: count('followers'),
    friendCount: count('friends'),
    viewerRelation: uncached(async (asked, { viewer }) => {
      if (viewer === undefined) return asked.map(() => null)
      return relations(viewer, asked.map(({ obj }) => obj.id))
    })
  },
  Connection: {
    totalCount: uncached(async (asked) => {
      const found = await counts(asked.map(({ obj }) => obj.owner))
      return found.map((totals, index) => totals[asked[index].obj.kind])
    })
  }
}

const app = fastify()
app.register(mercurius, {
  schema,
  resolvers,
  loaders,
  jit: 1,
  context: (request) => ({ viewer: request.headers['x-viewer'] })
})
app.get('/readyz', async () => 'ready')
await app.listen({ port: Number(port), host: '127.0.0.1' })
