package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// networks is the part of EC2 that has addresses and rules (providers.md 2.12 to 2.14).
func networks() []*model.ResourceType {
	network := checked(text, ipv4CIDR())
	vpc := identified("vpc_id", resource("Vpc", "A virtual network.", tagged(), []model.Field{
		immutable("cidr_block", network, "Its IPv4 addresses."),
		computed("vpc_id", text, "Id."),
	}))
	subnet := identified("subnet_id", resource("Subnet", "A part of a virtual network in one zone.", tagged(), []model.Field{
		immutable("vpc_id", text, "Virtual network."),
		immutable("cidr_block", network, "Its IPv4 addresses."),
		immutable("availability_zone", text, "Zone."),
		or(mutable("map_public_ip_on_launch", boolean, "Give what is launched a public address."), false),
		computed("subnet_id", text, "Id."),
	}))
	group := identified("group_id", resource("SecurityGroup", "A security group and all its rules.", tagged(), []model.Field{
		named(immutable("group_name", text, "Name.")),
		or(immutable("description", text, "What the group is for."), "managed by atlantide"),
		immutable("vpc_id", text, "Virtual network."),
		or(mutable("ingress", listOf(nested(securityRule)), "What may come in."), []any{}),
		or(mutable("egress", listOf(nested(securityRule)), "What may go out."), []any{allowAllEgress()}),
		computed("group_id", text, "Id."),
	}))
	return []*model.ResourceType{vpc, subnet, group}
}

// allProtocols is the protocol of a rule that has no ports.
const allProtocols = "-1"

// securityRule is one rule of a security group: one protocol and range of ports, from
// or to any number of peers.
var securityRule = &model.NestedType{
	Name: "SgRule",
	Doc:  "A rule of a security group.",
	Fields: []model.Field{
		or(mutable("protocol", text, "Protocol; "+allProtocols+" is all of them."), "tcp"),
		or(mutable("from_port", model.FieldType{Kind: model.KindInt, Nullable: true}, "First port."), nil),
		or(mutable("to_port", model.FieldType{Kind: model.KindInt, Nullable: true}, "Last port."), nil),
		or(mutable("cidr_blocks", texts, "IPv4 peers."), []any{}),
		or(mutable("ipv6_cidr_blocks", texts, "IPv6 peers."), []any{}),
		or(mutable("source_security_group_id", nullableText, "Security group that is the peer."), nil),
		or(mutable("description", text, "Written on each peer."), ""),
	},
	Rules: []model.Rule{
		{
			Fields: []string{"protocol", "from_port", "to_port"}, Must: "give from_port and to_port, unless protocol is '" + allProtocols + "'",
			Holds: func(f map[string]model.Value) bool {
				protocol, known := f["protocol"].(string)
				return !known || protocol == allProtocols || count(f, "from_port", "to_port") == 2
			},
		},
		{
			Fields: []string{"cidr_blocks", "ipv6_cidr_blocks", "source_security_group_id"},
			Must:   "give at least 1 of cidr_blocks, ipv6_cidr_blocks and source_security_group_id",
			Holds: func(f map[string]model.Value) bool {
				return count(f, "cidr_blocks", "ipv6_cidr_blocks", "source_security_group_id") > 0
			},
		},
	},
}

// allowAllEgress is the rule that a group has when a config says nothing of egress.
func allowAllEgress() map[string]any {
	return map[string]any{
		"protocol": allProtocols, "from_port": nil, "to_port": nil, "cidr_blocks": []any{"0.0.0.0/0"},
		"ipv6_cidr_blocks": []any{}, "source_security_group_id": nil, "description": "",
	}
}
