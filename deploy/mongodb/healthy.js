// The health check of a replica set of one: the first call founds it, and it is healthy as primary.
try {
  rs.status();
} catch (error) {
  rs.initiate({ _id: "rs0", members: [{ _id: 0, host: "mongodb:27017" }] });
}
quit(db.hello().isWritablePrimary ? 0 : 1);
