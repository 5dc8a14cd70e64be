package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// gateways is the part of EC2 that leads out of a network (providers.md 2.15 to 2.18).
func gateways() []*model.ResourceType {
	internet := identified("internet_gateway_id", resource("InternetGateway", "An internet gateway, attached.", tagged(), []model.Field{
		immutable("vpc_id", text, "Virtual network."),
		computed("internet_gateway_id", text, "Id."),
	}))
	address := identified("allocation_id", resource("ElasticIp", "A public IPv4 address.", tagged(), []model.Field{
		computed("allocation_id", text, "Id."),
		computed("public_ip", text, "The address."),
	}))
	nat := identified("nat_gateway_id", resource("NatGateway", "A NAT gateway.", tagged(), []model.Field{
		immutable("subnet_id", text, "Subnet that it stands in."),
		immutable("allocation_id", text, "Id of its public address."),
		computed("nat_gateway_id", text, "Id."),
	}))
	table := identified("route_table_id", resource("RouteTable", "A route table, its routes and its subnets.", tagged(), []model.Field{
		immutable("vpc_id", text, "Virtual network."),
		or(mutable("routes", listOf(nested(route)), "Routes beside the local one."), []any{}),
		or(mutable("subnet_ids", texts, "Subnets that use the table."), []any{}),
		computed("route_table_id", text, "Id."),
	}))
	return []*model.ResourceType{internet, address, nat, table}
}

var route = &model.NestedType{
	Name: "Route",
	Doc:  "A route to a gateway.",
	Fields: []model.Field{
		or(mutable("cidr_block", text, "IPv4 destination."), "0.0.0.0/0"),
		or(mutable("gateway_id", nullableText, "Internet gateway."), nil),
		or(mutable("nat_gateway_id", nullableText, "NAT gateway."), nil),
	},
	Rules: []model.Rule{{
		Fields: []string{"gateway_id", "nat_gateway_id"}, Must: "give exactly 1 of gateway_id and nat_gateway_id",
		Holds: func(f map[string]model.Value) bool { return count(f, "gateway_id", "nat_gateway_id") == 1 },
	}},
}
